import { readManifest } from "@antrea/antctl/plan/manifest";
import { readPorts } from "@antrea/antctl/ovs-records";
import {
    containerOfAlias,
    fromAlias,
    fromExternalIds,
    toAlias,
    toExternalIds,
} from "@antrea/agent/platform/pod-interfaces";
import { formatEntry, parseEntry } from "@antrea/agent/platform/host/uplink/journal-codec";
import { decodeLedger } from "@antrea/controller/features/node-ipam/ledger";
import { AntreaError } from "@antrea/errors";
import { isRecord, json, parsed } from "../fixture.ts";
import { mustEqual, type Target } from "../target.ts";

const ids = {
    "antrea-type": "container",
    "container-id": "a1b2",
    "if-dev": "eth0",
    "pod-namespace": "ns",
    "pod-name": "web-0",
    "pod-uid": "1",
    "net-ns": "/run/netns/x",
    "attached-mac": "0a:00:0a:01:00:05",
    "ip-address": "10.1.0.5,fd00::5",
    "ip-prefix-length": "24,64",
    "ip-gateway": "10.1.0.1,fd00::1",
    "ip-pool": "a,b",
    vlan: "7",
    "boot-id": "b",
    "cni-network": "antrea",
};
const nic = {
    index: 2,
    mac: "0a:00:00:00:00:01",
    mtu: 1500,
    group: 0,
    up: true,
    promiscuous: false,
    txChecksumOffload: true,
    receiveMerging: true,
};
const saved = {
    takenAt: 1,
    addresses: [
        {
            ip: "192.0.2.7",
            prefixLength: 24,
            scope: 0,
            flags: 128,
            lifetime: { preferredSeconds: "forever", validSeconds: 60 },
        },
    ],
    routes: [
        {
            dst: "0.0.0.0/0",
            table: 254,
            protocol: 3,
            scope: 0,
            type: 1,
            metric: 0,
            onlink: false,
            via: "192.0.2.1",
            metrics: { 2: 1400 },
        },
    ],
    neighbours: [{ ip: "192.0.2.1", state: 128, flags: 0, mac: "0a:00:00:00:00:02" }],
    altNames: ["enp0s1"],
};

/**
 * State that a Node and the cluster store for Antrea: external_ids, link aliases, the uplink journal, the ledger of
 * podCIDRs.
 */
export const target: Target = {
    // Large enough for values that overflow a stack.
    maxBytes: 40_000,
    format: "json",
    bytesPerByte: 16_384,
    seeds: () => [
        json({ ids }),
        json({ ids: { ...ids, "ip-pool": undefined, vlan: undefined } }),
        json({ alias: "antrea1 a1b2 eth0 1 10.10.0.5/24,fd00::5/64 0123abcd" }),
        json({ alias: "antrea2 a1b2 eth0 1 10.10.0.5/24 0123abcd 10.10.0.1 7" }),
        json({
            journal: json({
                version: 1,
                step: "bridged",
                bootId: "b",
                netns: "4:1",
                name: "eth0",
                physicalName: "eth0~",
                nic,
                saved,
                hostIndex: 9,
            }),
        }),
        json({
            ledger: {
                data: {
                    holder: "h",
                    sequence: "5",
                    next: "10.0.0.0/24,fd00::/64",
                    nodes: "n1 10.0.0.0/24\nn2 10.0.1.0/24,fd00::/64 gone 2026-11-22T00:00:00.000Z\n",
                },
            },
        }),
        json({ ledger: { data: {}, binaryData: { "nodes.gz": "H4sIAAAAAAAAA8szVDA00DMAQn0jEy4AqZbpqA4AAAA=" } } }),
        json({
            ports: '{"headings":["name","external_ids","tag"],"data":[["p",["map",[["antrea-type","container"]]],["set",[]]]]}',
        }),
        json({
            manifest:
                "apiVersion: crd.antrea.io/v1alpha2\nkind: IPPool\nmetadata: {name: a}\nspec: {ipVersion: 4}\n---\n",
        }),
    ],
    tokens: ["antrea1 ", "antrea2 ", " ", ",", "forever", "adopted", "gone"],
    run: (input) => {
        const value = parsed(input);
        if (!isRecord(value)) return;
        if (isRecord(value.ids)) checkPort(value.ids);
        if (typeof value.alias === "string") {
            fromAlias(value.alias);
            containerOfAlias(value.alias);
        }
        if (typeof value.journal === "string") {
            const entry = parseEntry(value.journal);
            if (entry !== undefined) mustEqual("an entry written and read", parseEntry(formatEntry(entry)), entry);
        }
        if (isRecord(value.ledger))
            decodeLedger({ data: texts(value.ledger.data), binaryData: texts(value.ledger.binaryData) });
        if (typeof value.ports === "string") readPorts(value.ports);
        if (typeof value.manifest === "string") readManifest([{ name: "pools.yaml", text: value.manifest }]);
    },
    isRefusal: (error) => error instanceof AntreaError && error.fault !== "internal",
};

function checkPort(given: Readonly<Record<string, unknown>>): void {
    const record = fromExternalIds("veth1", new Map(Object.entries(texts(given))));
    if (record === undefined || record === "unfinished") return;
    const again = fromExternalIds("veth1", new Map(Object.entries(toExternalIds(record))));
    mustEqual("a record written and read", again, record);
    fromAlias(toAlias(record));
}

function texts(value: unknown): Record<string, string> {
    if (!isRecord(value)) return {};
    return Object.fromEntries(Object.entries(value).filter(([, text]) => typeof text === "string")) as Record<
        string,
        string
    >;
}
