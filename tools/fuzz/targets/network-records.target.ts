import {
    fromExternalIds,
    fromNetworkAlias,
    fromNetworkIds,
    toExternalIds,
    toNetworkAlias,
    toNetworkIds,
    type NetworkRecord,
} from "@antrea/agent/platform/pod-interfaces";
import { fromFunctionAlias, toFunctionAlias } from "@antrea/agent/features/virtual-functions/alias";
import { formatStored, parseStored } from "@antrea/agent/features/virtual-functions/kept-link";
import { readPorts } from "@antrea/antctl/ovs-records";
import { parseIp } from "@antrea/ip";
import { isRecord, json, parsed } from "../fixture.ts";
import { BrokenProperty, mustEqual, type Target } from "../target.ts";

const ids = {
    "antrea-type": "container",
    "secondary-network": "networks/vlan100",
    "container-id": "a1b2",
    "if-dev": "eth1",
    "pod-namespace": "ns",
    "pod-name": "web-0",
    "pod-uid": "1",
    "net-ns": "/run/netns/x",
    "attached-mac": "0a:00:0a:01:00:05",
    mtu: "1500",
    "ip-address": "10.1.0.5,fd00::5",
    "ip-prefix-length": "24,64",
    "ip-gateway": "10.1.0.1,-",
    "ip-pool": "a,-",
    vlan: "7",
    "default-route": "10.1.0.1,fd00::1",
    "boot-id": "0123abcd-0",
    isolated: "true",
};
const unaddressed = Object.fromEntries(Object.entries(ids).filter(([key]) => !key.startsWith("ip-")));
const addresses = { ip: "10.1.0.5", pool: "a" };

const kept = {
    version: 1,
    bootId: "0123abcd-0",
    device: { bus: "pci", id: "0000:af:06.0" },
    port: "0",
    containerId: "a1b2",
    ifName: "eth1",
    former: {
        name: "vf0",
        mtu: 9000,
        mac: "0a:00:0a:01:00:05",
        up: true,
        alias: "rack 7, port 1",
        group: 0,
        promiscuous: false,
        altNames: ["enp175s0f0v0"],
    },
};

/**
 * What a Node stores about interfaces on other networks than the Pod network: external_ids, link aliases, and what links of
 * virtual functions were.
 */
export const target: Target = {
    // Large enough for values that overflow a stack.
    maxBytes: 40_000,
    format: "json",
    seeds: () => [
        json({ ids }),
        json({ ids: unaddressed }),
        json({ ids: { ...ids, vlan: "0", isolated: "false", "default-route": "" } }),
        json({ ids: { ...ids, "ip-pool": "a", addresses } }),
        json({ alias: "antrea3 a1b2 eth1 1 0a:00:0a:01:00:05 7 1500 0123abcd" }),
        json({ alias: "antrea3 a1b2 eth1 - 0a:00:0a:01:00:05 0 1500 - iso" }),
        json({ alias: "antrea3 a1b2 eth1 - 0a:00:0a:01:00:05 0 1500 - - 10.1.0.1 GAoBAAU" }),
        json({
            ids: { ...ids, "device-bus": "pci", device: "0000:af:06.0", "device-link": "vf0", "device-mtu": "9000" },
        }),
        json({ alias: "antrea3 a1b2 net1 - 0a:00:0a:01:00:05 0 1500 - - - - meta" }),
        json({ alias: "antrea4 a1b2 eth1" }),
        json({ kept: json(kept) }),
        json({ kept: json({ ...kept, kind: "veth", device: { bus: "auxiliary", id: "mlx5_core.sf.4" } }) }),
    ],
    tokens: ["antrea3 ", " iso", " ", ",", "-", "secondary-network", "default-route", "ip-pool"],
    run: (input) => {
        const value = parsed(input);
        if (!isRecord(value)) return;
        if (isRecord(value.ids)) checkIds(value.ids);
        if (typeof value.alias === "string") checkAlias(value.alias);
        if (typeof value.kept === "string") checkKept(value.kept);
    },
    isRefusal: () => false,
};

function checkIds(given: Readonly<Record<string, unknown>>): void {
    const texts = Object.entries(given).filter((pair): pair is [string, string] => typeof pair[1] === "string");
    // Also those of an unfinished interface.
    readPorts(json({ headings: ["name", "external_ids"], data: [["veth1", ["map", texts]]] }));
    const record = fromNetworkIds("veth1", new Map(texts));
    if (record === undefined || record === "unfinished") return;
    const written = toNetworkIds(record);
    mustEqual("a record written and read", fromNetworkIds("veth1", new Map(Object.entries(written))), record);
    if (record.device !== undefined) checkFunction(record);
    if (Object.values(written).some((text) => typeof text !== "string")) throw new BrokenProperty("an ID is no text");
    toNetworkAlias(record);
}

/** The record of eth0 has those of functions. */
function checkFunction(record: NetworkRecord): void {
    const functions = [{ ...record, hostIfName: "" }];
    const pod = {
        ...record,
        network: undefined,
        vlan: 0,
        hostIfName: "veth0",
        addresses: [{ ip: parseIp("10.1.0.5"), prefixLength: 24, gateway: parseIp("10.1.0.1") }],
    };
    const ids = new Map(Object.entries(toExternalIds({ ...pod, functions })));
    const read = fromExternalIds("veth0", ids);
    mustEqual("functions written and read", read === "unfinished" ? undefined : read?.functions, functions);
    readPorts(json({ headings: ["name", "external_ids"], data: [["veth0", ["map", [...ids]]]] }));
}

function checkKept(text: string): void {
    const stored = parseStored(text);
    if (stored !== undefined) mustEqual("a kept link written and read", parseStored(formatStored(stored)), stored);
}

function checkAlias(text: string): void {
    const ofFunction = fromFunctionAlias(text);
    // The kernel has none that is longer.
    if (ofFunction !== undefined && new TextEncoder().encode(text).length <= 255)
        mustEqual(
            "an alias of a function written and read",
            fromFunctionAlias(toFunctionAlias(ofFunction)),
            ofFunction,
        );
    const alias = fromNetworkAlias(text);
    if (alias === undefined) return;
    const record: NetworkRecord = {
        podNamespace: "",
        podName: "",
        network: "",
        netns: "",
        hostIfName: "veth1",
        ...alias,
    };
    // The kernel has none that is longer, and a longer one has no room for all addresses.
    if (new TextEncoder().encode(text).length > 255) return;
    mustEqual("an alias written and read", fromNetworkAlias(toNetworkAlias(record)), {
        ...alias,
        bootId: alias.bootId.slice(0, 8),
    });
}
