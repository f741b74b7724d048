import { mergeStatus, type NetworkStatus } from "@antrea/networks";
import { hasMoreLevels, isRecord, json, parsed } from "../fixture.ts";
import { BrokenProperty, mustEqual, type Target } from "../target.ts";

const eth0: NetworkStatus = {
    name: "antrea",
    interface: "eth0",
    ips: ["10.2.0.5"],
    mac: "02:00:00:00:00:01",
    mtu: 1450,
    default: true,
    gateway: ["10.2.0.1"],
    dns: {},
};
const eth1: NetworkStatus = { name: "ns/net1", interface: "eth1", ips: [], mac: eth0.mac, mtu: 1500, dns: {} };
const net9 = { name: "ns/other", interface: "net9", ips: ["10.9.0.5"], default: true, vendor: { a: [1] } };

/** The annotation about the interfaces of a Pod, which others write too. */
export const target: Target = {
    // Large enough for values that overflow a stack.
    maxBytes: 40_000,
    format: "json",
    seeds: () => [
        json([net9]),
        json([{ ...eth0, ips: ["10.2.0.9"] }, eth1, net9]),
        json([{ name: "ns/net1" }, { name: "ns/net7", interface: "" }, 1, null, [net9]]),
        json({ name: "ns/net1" }),
        "{",
        " ",
    ],
    tokens: ["eth0", "eth1", "ns/net1", "antrea", "default", "interface", "name", "__proto__"],
    run: (input) => {
        const earlier = new TextDecoder().decode(input);
        for (const ours of [[eth1, eth0], [eth1], []]) check(earlier, ours);
    },
    isRefusal: () => false,
};

function check(earlier: string, ours: readonly NetworkStatus[]): void {
    const text = mergeStatus(earlier, ours);
    if (mergeStatus(text, ours) !== text) throw new BrokenProperty(`merged again it is another one: ${text}`);
    const merged = JSON.parse(text) as unknown;
    if (!Array.isArray(merged)) throw new BrokenProperty(`it is no list: ${text}`);
    const first = ours.toSorted((a, b) => Number(b.default ?? false) - Number(a.default ?? false));
    mustEqual("ours", merged.slice(0, ours.length), JSON.parse(json(first)));
    const others: readonly unknown[] = merged.slice(ours.length);
    const before = parsed(new TextEncoder().encode(earlier));
    const kept = (Array.isArray(before) ? before : []).filter(
        (entry) => isRecord(entry) && !hasMoreLevels(entry) && isOfOthers(entry, ours),
    );
    const hasDefault = ours.some((status) => status.default === true);
    const expected: readonly unknown[] = kept.map((entry: unknown) =>
        hasDefault && isRecord(entry) ? { ...entry, default: undefined } : entry,
    );
    mustEqual("what others wrote", others, expected);
}

/** It has another interface; without one, another network. */
function isOfOthers(entry: Readonly<Record<string, unknown>>, ours: readonly NetworkStatus[]): boolean {
    const { interface: ifName, name } = entry;
    if (typeof ifName === "string" && ifName !== "") return ours.every((status) => status.interface !== ifName);
    return ours.every((status) => status.name !== name);
}
