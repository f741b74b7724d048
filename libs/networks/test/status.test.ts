import { describe, expect, it } from "@jest/globals";
import { mergeStatus, writtenStatuses, type NetworkStatus } from "../src/index.ts";

const eth0: NetworkStatus = {
    name: "antrea",
    interface: "eth0",
    ips: ["10.2.0.5"],
    mac: "02:00:00:00:00:01",
    mtu: 1450,
    default: true,
    dns: {},
};
const eth1: NetworkStatus = { ...eth0, name: "ns/net1", interface: "eth1", ips: [] };
const other = { name: "ns/other", interface: "net9", ips: ["10.9.0.5"], vendor: { a: 1 } };
const own1: NetworkStatus = {
    name: eth1.name,
    interface: eth1.interface,
    ips: eth1.ips,
    mac: eth1.mac,
    mtu: eth1.mtu,
    dns: eth1.dns,
};

describe("mergeStatus", () => {
    it.each<[string, string | undefined, unknown[]]>([
        ["nothing", undefined, [eth0, own1]],
        ["an empty text", " ", [eth0, own1]],
        ["a text that is no JSON", "{", [eth0, own1]],
        ["a value that is no list", '{"a":1}', [eth0, own1]],
        ["entries of others, with all their fields", JSON.stringify([other]), [eth0, own1, other]],
        ["entries that are no objects", JSON.stringify([1, null, other, [2]]), [eth0, own1, other]],
        ["our own of before", JSON.stringify([{ ...eth0, ips: ["10.2.0.9"] }, own1, other]), [eth0, own1, other]],
        [
            "an entry without interface of our network",
            JSON.stringify([{ name: "ns/net1" }, other]),
            [eth0, own1, other],
        ],
        [
            "an entry without interface of another",
            JSON.stringify([{ name: "ns/net7" }]),
            [eth0, own1, { name: "ns/net7" }],
        ],
        ["another default", JSON.stringify([{ ...other, default: true }]), [eth0, own1, other]],
    ])("keeps what others wrote: %s", (_, earlier, expected) => {
        expect(JSON.parse(mergeStatus(earlier, [own1, eth0]))).toEqual(expected);
    });

    it("drops elements of more levels than can be written", () => {
        const deep = `{"name":"deep","a":${"[".repeat(50_000)}${"]".repeat(50_000)}}`;
        expect(JSON.parse(mergeStatus(`[${deep},${JSON.stringify(other)}]`, [eth0]))).toEqual([eth0, other]);
    });

    it.each([[["ns/net1"]], [{ toString: 1 }], [null]])("keeps an entry whose name is no text: %j", (name) => {
        expect(JSON.parse(mergeStatus(JSON.stringify([{ name }]), [eth1]))).toHaveLength(2);
    });

    it("drops what was ours before, and only if it is as we wrote it", () => {
        const net2: NetworkStatus = { ...own1, name: "ns/net2", interface: "eth2" };
        const changed = { ...net2, interface: "eth3", ips: ["10.9.0.7"] };
        const former = new Set([own1, net2, { ...changed, ips: [] }].map((one) => JSON.stringify(one)));
        const text = JSON.stringify([eth0, own1, net2, changed, other], undefined, 4);
        expect(JSON.parse(mergeStatus(text, [eth0, own1], former))).toEqual([eth0, own1, changed, other]);
        expect(JSON.parse(mergeStatus(text, [eth0], former))).toEqual([eth0, changed, other]);
    });

    it("changes nothing when merged again", () => {
        const once = mergeStatus(JSON.stringify([other]), [eth0, own1]);
        expect(mergeStatus(once, [eth0, own1])).toBe(once);
    });
});

describe("writtenStatuses", () => {
    it("finds ours as they are written, also with more in them, and none with other addresses", () => {
        const withDns = { ...own1, dns: { nameservers: ["10.9.0.1"] } };
        const text = JSON.stringify([other, withDns, { ...eth0, ips: ["10.2.0.9"] }]);
        expect(writtenStatuses(text, [eth0, own1])).toEqual([undefined, withDns]);
        expect(writtenStatuses(JSON.stringify([eth0]), [eth0])).toEqual([eth0]);
        expect(writtenStatuses(undefined, [own1])).toEqual([undefined]);
        // They are written again as they were.
        expect(mergeStatus(text, [eth0, writtenStatuses(text, [own1])[0] ?? own1])).toBe(
            JSON.stringify([eth0, withDns, other]),
        );
    });
});
