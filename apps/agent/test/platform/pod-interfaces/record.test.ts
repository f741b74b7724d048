import { describe, expect, it } from "@jest/globals";
import { parseIp } from "@antrea/ip";
import { addressOf, podRecord } from "../../support/records.ts";
import {
    containerOfAlias,
    fromAlias,
    fromExternalIds,
    networkOfHash,
    pendingAlias,
    type PodRecord,
    releasedAlias,
    toAlias,
    toExternalIds,
    unfinishedExternalIds,
} from "../../../src/platform/pod-interfaces/index.ts";

const pooled = podRecord({
    addresses: [
        { ...addressOf("10.2.0.12/24"), gateway: parseIp("10.2.0.254"), pool: "pool1" },
        { ...addressOf("3ffe:ffff:1:1ff::100/64"), gateway: parseIp("3ffe:ffff:1:1ff::1"), pool: "pool2" },
    ],
    vlan: 7,
});
const dual = podRecord({ addresses: [addressOf("10.10.1.5/24"), addressOf("fd10:10:0:1::5/64")] });

function idsOf(record: PodRecord, changes: Readonly<Record<string, string | undefined>> = {}): Map<string, string> {
    const ids = new Map(Object.entries(toExternalIds(record)));
    for (const [key, value] of Object.entries(changes)) {
        if (value === undefined) ids.delete(key);
        else ids.set(key, value);
    }
    return ids;
}

describe("a record in external_ids", () => {
    it.each([
        ["IPv4", podRecord({ addresses: [addressOf("10.10.1.5/24")] })],
        ["IPv6", podRecord({ addresses: [addressOf("fd10:10:0:1::5/64")] })],
        ["dual stack", dual],
        ["of pools", pooled],
        [
            "of a pool that is not known any more",
            podRecord({ addresses: [{ ...addressOf("10.2.0.12/24"), pool: "" }] }),
        ],
        ["another interface than eth0", podRecord({ ifName: "net1" })],
        ["isolated", { ...pooled, isolated: true }],
        ["made from an annotation about networks", { ...pooled, networksHash: "0123456789abcdef" }],
        ["of a network", podRecord({ network: "storage" })],
    ])("comes back as it was: %s", (_, record) => {
        expect(fromExternalIds(record.hostIfName, idsOf(record))).toEqual(record);
    });

    it("that an earlier version rebuilt, with an empty name, is of no known network", () => {
        const rebuilt = podRecord({ network: "storage" });
        const read = fromExternalIds(rebuilt.hostIfName, idsOf(rebuilt, { "cni-network": "" }));
        expect(read).not.toHaveProperty("network");
    });

    it("of an earlier version names no network, and records it when it is written again", () => {
        const { network: _, ...earlier } = podRecord({ network: "antrea" });
        expect(idsOf(podRecord({ network: "storage" })).get("cni-network")).toBe("storage");
        const read = fromExternalIds(earlier.hostIfName, idsOf(earlier));
        expect(read).not.toHaveProperty("network");
        expect(toExternalIds(read as PodRecord)).not.toHaveProperty("cni-network");
    });

    it("has the keys that Antrea gives a Pod's port", () => {
        expect(toExternalIds(dual)).toMatchObject({
            "antrea-type": "container",
            "container-id": dual.containerId,
            "pod-name": "web-0",
            "pod-namespace": "default",
            "attached-mac": dual.mac,
            "ip-address": "10.10.1.5,fd10:10:0:1::5",
        });
    });

    it.each<[string, Record<string, string>]>([
        ["nothing", {}],
        ["a gateway", { "antrea-type": "gateway" }],
        ["a port of something else", { iface: "x", "container-id": "abc" }],
    ])("is none: %s", (_, ids) => {
        expect(fromExternalIds("port", new Map(Object.entries(ids)))).toBeUndefined();
    });

    it.each<[string, Record<string, string | undefined>]>([
        ["no addresses", { "ip-address": undefined }],
        ["empty addresses", { "ip-address": "" }],
        ["an address that is none", { "ip-address": "10.10.1.5,fd10::z" }],
        ["no prefix lengths", { "ip-prefix-length": undefined }],
        ["fewer prefix lengths than addresses", { "ip-prefix-length": "24" }],
        ["more prefix lengths than addresses", { "ip-prefix-length": "24,64,64" }],
        ["a prefix length that is no number", { "ip-prefix-length": "24,x" }],
        ["a prefix length that is empty", { "ip-prefix-length": "24," }],
        ["a prefix length beyond the family", { "ip-prefix-length": "33,64" }],
        ["a prefix length with a fraction", { "ip-prefix-length": "24.5,64" }],
        ["no gateways", { "ip-gateway": undefined }],
        ["a gateway too few", { "ip-gateway": "10.10.1.1" }],
        ["a gateway that is none", { "ip-gateway": "10.10.1.1,?" }],
        ["no container", { "container-id": undefined }],
        ["no MAC", { "attached-mac": "" }],
        ["a MAC that is none", { "attached-mac": "0a:58:zz" }],
    ])("is unfinished: %s", (_, changes) => {
        expect(fromExternalIds("port", idsOf(dual, changes))).toBe("unfinished");
    });
});

it("external_ids of a port without addresses yet are unfinished", () => {
    expect(fromExternalIds("port", new Map(Object.entries(unfinishedExternalIds(dual))))).toBe("unfinished");
});

describe("a record in a link alias", () => {
    it.each([
        ["IPv4", podRecord()],
        ["dual stack", dual],
        ["of the Node's subnet, isolated", { ...dual, isolated: true }],
        ["of pools", pooled],
        ["of pools, isolated", { ...pooled, isolated: true }],
        ["of pools, isolated and untagged", { ...pooled, vlan: 0, isolated: true }],
        ["of a network", { ...dual, network: "storage" }],
        ["of a network and isolated", { ...dual, network: "storage", isolated: true }],
        ["of a network and pools", { ...pooled, network: "storage" }],
        ["of a network and pools, untagged and isolated", { ...pooled, vlan: 0, network: "storage", isolated: true }],
    ])("comes back with all that the alias is for: %s", (_, record: PodRecord) => {
        expect(fromAlias(toAlias(record))).toEqual({
            containerId: record.containerId,
            ifName: record.ifName,
            podUid: record.podUid,
            addresses: record.addresses.map(({ ip, prefixLength, gateway, pool }) => ({
                ip,
                prefixLength,
                gateway: pool === undefined ? undefined : gateway,
            })),
            vlan: record.vlan,
            bootId: record.bootId.slice(0, 8),
            isolated: record.isolated ?? false,
            networkHash: record.network === undefined ? undefined : "3d48292e",
        });
    });

    it("reads as before to agents that know no network: they take nine words by their places", () => {
        for (const record of [dual, pooled, { ...pooled, vlan: 0 }]) {
            for (const isolated of [false, true]) {
                const words = toAlias({ ...record, isolated, network: "storage" }).split(" ");
                const before = toAlias({ ...record, isolated }).split(" ");
                expect(words.slice(0, 6)).toEqual(before.slice(0, 6));
                expect(words[6]).toBe(before[6] ?? "-");
                expect(Number(words[7])).toBe(Number(before[7] ?? 0));
                expect(words[8] === "iso").toBe(isolated);
                expect(words).toHaveLength(10);
            }
        }
    });

    it("is of no known network when an earlier agent wrote it, and the word of a later one is ignored", () => {
        for (const alias of [
            "antrea1 abc eth0 uid 10.10.1.5/24 0f4a7c1e",
            "antrea1 abc eth0 uid 10.10.1.5/24 0f4a7c1e - 0 iso",
            "antrea2 abc eth0 uid 10.2.0.12/24 0f4a7c1e 10.2.0.254 7",
            "antrea2 abc eth0 uid 10.2.0.12/24 0f4a7c1e 10.2.0.254 7 iso",
            "antrea2 abc eth0 uid 10.2.0.12/24 0f4a7c1e 10.2.0.254 7 - 3d48292",
            "antrea2 abc eth0 uid 10.2.0.12/24 0f4a7c1e 10.2.0.254 7 - whatever",
        ]) {
            expect(fromAlias(alias)).toMatchObject({ containerId: "abc", networkHash: undefined });
        }
    });

    it("that was rebuilt keeps what was known of its network", () => {
        const alias = toAlias({ ...pooled, network: "storage" });
        expect(toAlias({ ...pooled, network: networkOfHash(fromAlias(alias)?.networkHash) })).toBe(alias);
        expect(toAlias({ ...pooled, network: networkOfHash(undefined) })).toBe(toAlias(pooled));
    });

    it("names its network when it is of Kubernetes with usual addresses of both families", () => {
        const addresses = ["192.168.100.100/24", "2001:db8:85a3:8d3::8a2e/64"];
        const record = podRecord({
            containerId: "c".repeat(64),
            ifName: "eth0",
            network: "antrea",
            vlan: 4094,
            addresses: addresses.map((text) => ({ ...addressOf(text), pool: "p" })),
        });
        expect(fromAlias(toAlias(record))).toMatchObject({ podUid: record.podUid, networkHash: "3087d189" });
    });

    it("of an earlier version is of an interface that is not isolated", () => {
        const alias = "antrea2 abc eth0 uid 10.2.0.12/24 0f4a7c1e 10.2.0.254 7";
        expect(fromAlias(alias)).toMatchObject({ containerId: "abc", vlan: 7, isolated: false });
        const ofSubnet = fromAlias("antrea1 abc eth0 uid 10.10.1.5/24 0f4a7c1e");
        expect(ofSubnet).toMatchObject({ containerId: "abc", vlan: 0, isolated: false });
        expect(ofSubnet?.addresses.map(({ gateway }) => gateway)).toEqual([undefined]);
        expect(fromExternalIds("port", idsOf(pooled))).not.toHaveProperty("isolated");
    });

    it.each([
        ["4094", 4094],
        ["4095", 0],
        ["9999", 0],
        ["07x", 0],
        ["10000", 0],
    ])("with VLAN ID %s is of VLAN %i, where 0 is untagged", (text, vlan) => {
        expect(fromAlias(`antrea2 abc eth0 uid 10.2.0.12/24 0f4a7c1e 10.2.0.254 ${text}`)).toMatchObject({ vlan });
        const ids = new Map([...idsOf(pooled), ["vlan", text]]);
        expect(fromExternalIds("port", ids)).toMatchObject({ vlan });
    });

    it("of the Node's subnet has the mark where agents search it that know it of pools only", () => {
        const words = toAlias({ ...podRecord(), isolated: true }).split(" ");
        expect(words.slice(0, 6)).toEqual(toAlias(podRecord()).split(" "));
        expect(words[8]).toBe("iso");
    });

    // IFALIASZ: what is longer the kernel refuses, and with it the ADD. Container ids and UIDs as cni-args lets them in.
    it.each([
        ["of Kubernetes", "c".repeat(64), "5f8b3b0e-8b5a-4a4f-9d5e-0123456789ab"],
        ["with the longest UID", "c".repeat(64), "u".repeat(128)],
        ["with the longest container id and UID", "c".repeat(96), "u".repeat(128)],
    ])("has at most 255 bytes, and the identity is whole: %s", (_, containerId, podUid) => {
        const record = podRecord({
            containerId,
            podUid,
            ifName: "i".repeat(15),
            podName: "p".repeat(253),
            addresses: [
                { ip: parseIp("255.255.255.255"), prefixLength: 32, gateway: parseIp("255.255.255.254") },
                {
                    ip: parseIp("2001:db8:1234:5678:9abc:def0:1234:5678"),
                    prefixLength: 128,
                    gateway: parseIp("2001:db8:1234:5678:9abc:def0:1234:5679"),
                },
            ],
        });
        const ofPools: PodRecord = {
            ...record,
            addresses: record.addresses.map((one) => ({ ...one, pool: "p" })),
            vlan: 4094,
        };
        const all = [record, { ...record, isolated: true }, ofPools, { ...ofPools, isolated: true }];
        for (const one of [...all, ...all.map((other) => ({ ...other, network: "storage" }))]) {
            const alias = toAlias(one);
            expect(new TextEncoder().encode(alias).length).toBeLessThanOrEqual(255);
            expect(fromAlias(alias)).toMatchObject({
                containerId,
                ifName: record.ifName,
                addresses: record.addresses.map(({ ip, prefixLength }) => ({ ip, prefixLength })),
                vlan: one.vlan,
                isolated: one.isolated ?? false,
            });
        }
    });

    it.each([
        [pendingAlias("abc"), "abc"],
        [toAlias(pooled), pooled.containerId],
        [toAlias(dual), dual.containerId],
        [releasedAlias, ""],
        ["veth of docker", undefined],
        [undefined, undefined],
    ])("%j belongs to container %j", (alias, containerId) => {
        expect(containerOfAlias(alias)).toBe(containerId);
    });

    it("reports no record before the addresses are known", () => {
        expect(fromAlias(pendingAlias("abc"))).toBeUndefined();
    });

    it.each([
        ["nothing", undefined],
        ["empty", ""],
        ["somebody's words", "uplink to rack 4"],
        ["a later version", toAlias(dual).replace("antrea1", "antrea2")],
        ["a released link", "antrea1 released"],
        ["truncated", toAlias(dual).slice(0, 120)],
        ["an address that is none", toAlias(dual).replace("10.10.1.5", "10.10.1.555")],
        ["an address without length", toAlias(dual).replace("10.10.1.5/24", "10.10.1.5")],
        ["an address with an empty length", toAlias(dual).replace("10.10.1.5/24", "10.10.1.5/")],
        ["a length beyond the family", toAlias(dual).replace("10.10.1.5/24", "10.10.1.5/33")],
    ])("is none: %s", (_, alias) => {
        expect(fromAlias(alias)).toBeUndefined();
    });
});
