import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { parseIp } from "@antrea/ip";
import { networkRecord, podRecord } from "../../support/records.ts";
import {
    containerOfAlias,
    fromAlias,
    fromExternalIds,
    fromNetworkAlias,
    fromNetworkIds,
    toAlias,
    toExternalIds,
    toNetworkAlias,
    toNetworkIds,
    type NetworkRecord,
    type NetworkRecordAddress,
} from "../../../src/platform/pod-interfaces/index.ts";

const record = networkRecord({
    addresses: [
        { ip: parseIp("192.168.100.5"), prefixLength: 24, gateway: parseIp("192.168.100.1"), pool: "pool1" },
        { ip: parseIp("fd64::5"), prefixLength: 64, gateway: undefined, pool: undefined },
    ],
    vlan: 100,
    defaultGateways: [parseIp("192.168.100.1"), parseIp("fd64::1")],
});

const functionRecord: NetworkRecord = {
    ...record,
    hostIfName: "",
    device: { bus: "pci", id: "0000:af:06.0", linkName: "ens1f0v0", linkMtu: 9000 },
};

const hexOf = (length: number): fc.Arbitrary<string> =>
    fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: length, maxLength: length });
/** A name of Kubernetes; the shortest and the longest too. */
const nameOf = (maxLength: number): fc.Arbitrary<string> =>
    fc.oneof(
        fc
            .string({ unit: fc.constantFrom(..."abcxyz0189-."), minLength: 1, maxLength })
            .map((text) => `a${text}z`.slice(-maxLength)),
        fc.constant("a".repeat(maxLength)),
    );
const addressOf = fc.oneof(
    fc.record({ family: fc.constant(4 as const), value: fc.bigInt({ min: 0n, max: (1n << 32n) - 1n }) }),
    fc.record({ family: fc.constant(6 as const), value: fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }) }),
);
const recordAddress: fc.Arbitrary<NetworkRecordAddress> = addressOf.chain((ip) =>
    fc.record({
        ip: fc.constant(ip),
        prefixLength: fc.integer({ min: 0, max: ip.family === 4 ? 32 : 128 }),
        gateway: fc.option(
            addressOf.filter(({ family }) => family === ip.family),
            { nil: undefined },
        ),
        pool: fc.option(nameOf(253), { nil: undefined }),
    }),
);
/** Names as CNI lets them in: those of interfaces have any characters but white space, "/" and ":". */
const anyRecord: fc.Arbitrary<NetworkRecord> = fc.record({
    containerId: fc.oneof(hexOf(64), fc.constant("C".repeat(96)), fc.constant("a_b.c-d")),
    ifName: fc.constantFrom("eth1", "i".repeat(15), "a,b=c", "-", "iso", "é€€€", "antrea3", '"', "#1"),
    podNamespace: fc.oneof(nameOf(63), fc.constant("")),
    podName: fc.oneof(nameOf(253), fc.constant("")),
    podUid: fc.oneof(fc.uuid(), hexOf(32), fc.constant("")),
    network: fc.oneof(
        fc.tuple(nameOf(63), nameOf(253)).map((names) => names.join("/")),
        fc.constant(""),
    ),
    netns: fc.constantFrom("", "/var/run/netns/cni-1"),
    hostIfName: fc.constant("web-0-fedcba"),
    mac: hexOf(12).map((text) => (text.match(/../g) ?? []).join(":")),
    addresses: fc.array(recordAddress, { maxLength: 6 }),
    vlan: fc.integer({ min: 0, max: 4094 }),
    mtu: fc.integer({ min: 68, max: 65_535 }),
    defaultGateways: fc.uniqueArray(addressOf, { maxLength: 2, selector: ({ family }) => family }),
    bootId: fc.oneof(fc.uuid(), fc.constant("")),
    attachedBy: fc.constantFrom(undefined, "meta-plugin" as const),
});
const anyFunction: fc.Arbitrary<NetworkRecord> = fc
    .tuple(
        anyRecord,
        fc.constantFrom("pci" as const, "auxiliary" as const),
        nameOf(30),
        fc.integer({ min: 68, max: 65_535 }),
    )
    .map(([one, bus, id, linkMtu]) => ({ ...one, hostIfName: "", device: { bus, id, linkName: "ens1f0v0", linkMtu } }));
const isolatedOrNot: fc.Arbitrary<NetworkRecord> = fc
    .tuple(anyRecord, fc.boolean())
    .map(([one, isolated]) => (isolated ? { ...one, isolated } : one));

function idsOf(
    of: NetworkRecord = record,
    changes: Readonly<Record<string, string | undefined>> = {},
): ReadonlyMap<string, string> {
    const ids = new Map(Object.entries(toNetworkIds(of)));
    for (const [key, value] of Object.entries(changes)) {
        if (value === undefined) ids.delete(key);
        else ids.set(key, value);
    }
    return ids;
}

describe("a record of a network in external_ids", () => {
    it("comes back as it was", () => {
        fc.assert(
            fc.property(isolatedOrNot, (one) => {
                expect(fromNetworkIds(one.hostIfName, idsOf(one))).toEqual(one);
            }),
        );
    });

    it("comes back as it was in the record of the Pod network, if it is that of a virtual function", () => {
        fc.assert(
            fc.property(fc.array(anyFunction, { minLength: 1, maxLength: 4 }), (functions) => {
                const own = podRecord({ functions });
                const ids = new Map(Object.entries(toExternalIds(own)));
                expect(fromExternalIds(own.hostIfName, ids)).toEqual(own);
            }),
        );
    });

    it.each([
        ["", 0],
        ["{", 0],
        ["{}", 0],
        ["[1, null, {}, []]", 0],
        [JSON.stringify([toNetworkIds(record)]), 0],
        [JSON.stringify([{ ...toNetworkIds(record), "device-bus": "usb", device: "1", "device-link": "x" }]), 0],
        [JSON.stringify([{ ...toNetworkIds(functionRecord), mtu: 5 }, toNetworkIds(functionRecord)]), 1],
    ])("of a virtual function may be broken, which does not break that of the Pod network: %s", (text, count) => {
        const ids = new Map(Object.entries({ ...toExternalIds(podRecord()), "virtual-functions": text }));
        const own = fromExternalIds("web-0-abcdef", ids);
        expect(own).toEqual(podRecord(count === 0 ? {} : { functions: [functionRecord] }));
    });

    it("has the keys of a Pod's port, and the name of its network besides", () => {
        const { "secondary-network": network, ...ids } = toNetworkIds(record);
        expect(network).toBe("default/net1");
        const ofPod = toExternalIds(podRecord());
        const inBoth = ["antrea-type", "container-id", "if-dev", "pod-namespace", "pod-name", "pod-uid", "net-ns"];
        for (const key of [...inBoth, "attached-mac", "ip-address", "ip-prefix-length", "ip-gateway", "boot-id"]) {
            expect(Object.keys(ofPod)).toContain(key);
            expect(Object.keys(ids)).toContain(key);
        }
        expect(ids).toMatchObject({ "antrea-type": "container", "ip-address": "192.168.100.5,fd64::5" });
    });

    it("leaves out what is empty", () => {
        const ids = toNetworkIds({ ...record, addresses: [], vlan: 0, defaultGateways: [] });
        expect(Object.keys(ids).filter((key) => /^ip-|vlan|default-route|isolated/.test(key))).toEqual([]);
    });

    it.each<[string, Readonly<Record<string, string>>]>([
        ["of nothing", {}],
        ["of a gateway", { "antrea-type": "gateway", "secondary-network": "default/net1" }],
        ["of something else", { iface: "x", "container-id": "abc" }],
        ["of a NIC", { "antrea-secondary": "nic" }],
        ["of a Pod's interface on the Pod network", toExternalIds(podRecord())],
    ])("is none: a port %s", (_, ids) => {
        expect(fromNetworkIds("port", new Map(Object.entries(ids)))).toBeUndefined();
    });

    it.each<[string, Readonly<Record<string, string | undefined>>]>([
        ["no container", { "container-id": undefined }],
        ["an empty container", { "container-id": "" }],
        ["no interface", { "if-dev": undefined }],
        ["an empty interface", { "if-dev": "" }],
        ["no MAC", { "attached-mac": undefined }],
        ["a MAC that is none", { "attached-mac": "0a:58:zz" }],
        ["no MTU", { mtu: undefined }],
        ["an MTU that is none", { mtu: "much" }],
        ["an MTU with a fraction", { mtu: "1500.5" }],
        ["empty addresses", { "ip-address": "" }],
        ["an address that is none", { "ip-address": "192.168.100.5,fd64::z" }],
        ["an address too few", { "ip-address": "192.168.100.5" }],
        ["an address too many", { "ip-address": "192.168.100.5,fd64::5,fd64::6" }],
        ["no prefix lengths", { "ip-prefix-length": undefined }],
        ["a prefix length too few", { "ip-prefix-length": "24" }],
        ["a prefix length beyond the family", { "ip-prefix-length": "33,64" }],
        ["an empty prefix length", { "ip-prefix-length": "24," }],
        ["no gateways", { "ip-gateway": undefined }],
        ["a gateway too many", { "ip-gateway": "192.168.100.1,-,-" }],
        ["a gateway that is none", { "ip-gateway": "192.168.100.1,?" }],
        ["no pools", { "ip-pool": undefined }],
        ["a pool too few", { "ip-pool": "pool1" }],
        ["an empty default route", { "default-route": "" }],
        ["two default routes of a family", { "default-route": "10.0.0.1,10.0.0.2" }],
        ["a VLAN that is none", { vlan: "x" }],
        ["a VLAN that there is not", { vlan: "5000" }],
        ["an empty MTU", { mtu: "" }],
        ["a negative MTU", { mtu: "-5" }],
        ["a default route that is none", { "default-route": "192.168.100.1,?" }],
    ])("is unfinished: %s", (_, changes) => {
        expect(fromNetworkIds("port", idsOf(record, changes))).toBe("unfinished");
    });

    it("is unfinished as long as an ADD has written only what it is of", () => {
        const ids = { "antrea-type": "container", "secondary-network": "default/net1", "container-id": "abc" };
        expect(fromNetworkIds("port", new Map(Object.entries({ ...ids, "if-dev": "eth1" })))).toBe("unfinished");
    });

    it("is whole without names, namespace and boot, which a record rebuilt from its link lacks", () => {
        const lacks = { "pod-namespace": undefined, "pod-name": undefined, "pod-uid": undefined };
        const ids = idsOf(record, { ...lacks, "net-ns": undefined, "boot-id": undefined });
        const unknown = { podNamespace: "", podName: "", podUid: "", netns: "", bootId: "" };
        expect(fromNetworkIds(record.hostIfName, ids)).toEqual({ ...record, ...unknown });
    });
});

describe("a record of a network in a link alias", () => {
    const keptOf = ({
        containerId,
        ifName,
        podUid,
        mac,
        addresses,
        vlan,
        mtu,
        defaultGateways,
        bootId,
        isolated,
        attachedBy,
    }: NetworkRecord): object => ({
        containerId,
        ifName,
        podUid,
        mac,
        addresses: addresses.flatMap(({ ip, prefixLength, pool }) =>
            pool === undefined ? [] : [{ ip, prefixLength, gateway: undefined, pool: "" }],
        ),
        vlan,
        mtu,
        defaultGateways,
        bootId: bootId.slice(0, 8),
        ...(isolated === true ? { isolated } : {}),
        ...(attachedBy === undefined ? {} : { attachedBy }),
    });

    it("comes back with what the alias is for, and has at most 255 bytes", () => {
        fc.assert(
            fc.property(isolatedOrNot, (one) => {
                const alias = toNetworkAlias(one);
                expect(new TextEncoder().encode(alias).length).toBeLessThanOrEqual(255);
                // Who attached it, UID, gateways and then the last addresses are left out where there is no room.
                const read = fromNetworkAlias(alias);
                const { attachedBy, defaultGateways, podUid } = one;
                expect([undefined, attachedBy]).toContain(read?.attachedBy);
                expect([[], defaultGateways]).toContainEqual(read?.defaultGateways);
                expect(["", podUid]).toContain(read?.podUid);
                const shown = read?.addresses.length ?? 0;
                const ofPools = one.addresses.filter(({ pool }) => pool !== undefined);
                expect(shown).toBeGreaterThanOrEqual(Math.min(ofPools.length, 2));
                expect({ ...read, defaultGateways, podUid }).toEqual(
                    keptOf({ ...one, attachedBy: read?.attachedBy, addresses: ofPools.slice(0, shown) }),
                );
            }),
        );
    });

    it("fits with everything at its longest, as Kubernetes and the runtimes have it", () => {
        const longest: NetworkRecord = {
            ...record,
            containerId: "c".repeat(96),
            ifName: "i".repeat(15),
            vlan: 4094,
            mtu: 65_535,
            isolated: true,
            attachedBy: "meta-plugin",
        };
        const alias = toNetworkAlias(longest);
        expect(new TextEncoder().encode(alias).length).toBeLessThanOrEqual(255);
        expect(fromNetworkAlias(alias)).toEqual(keptOf(longest));
        const withoutUid = toNetworkAlias({ ...longest, podUid: "u".repeat(128) });
        expect(fromNetworkAlias(withoutUid)).toMatchObject({
            containerId: longest.containerId,
            podUid: "",
            vlan: 4094,
        });
    });

    it.each<[string, number, { readonly family: 4 | 6; readonly gateways: number }]>([
        ["18 addresses of IPv4", 18, { family: 4, gateways: 0 }],
        ["5 addresses of IPv6", 5, { family: 6, gateways: 0 }],
        ["9 addresses of IPv4 and default gateways", 9, { family: 4, gateways: 2 }],
        ["2 addresses of IPv6 and default gateways", 2, { family: 6, gateways: 2 }],
    ])("has room for %s, and then for the first ones", (_, count, { family, gateways }) => {
        const ipOf = (at: number): string =>
            family === 4 ? `100.100.100.${100 + at}` : `2001:db8:1111:2222:3333:4444:5555:${1000 + at}`;
        const vias = ["100.100.100.250", "2001:db8:1111:2222:3333:4444:5555:6666"].slice(0, gateways);
        const recordWith = (length: number): NetworkRecord => ({
            ...record,
            containerId: "c".repeat(64),
            vlan: 4094,
            mtu: 65_535,
            isolated: true,
            defaultGateways: vias.map((text) => parseIp(text)),
            addresses: Array.from({ length }, (__, at) => ({
                ip: parseIp(ipOf(at)),
                prefixLength: family === 4 ? 24 : 64,
                gateway: undefined,
                pool: "pool",
            })),
        });
        expect(fromNetworkAlias(toNetworkAlias(recordWith(count)))).toEqual(
            keptOf({ ...recordWith(count), podUid: "" }),
        );
        const read = fromNetworkAlias(toNetworkAlias(recordWith(40)));
        const shown = read?.addresses.length ?? 0;
        expect(shown).toBeGreaterThanOrEqual(count);
        expect(read).toMatchObject(keptOf({ ...recordWith(shown), defaultGateways: [], podUid: "" }));
    });

    it("records that a meta plugin attached it, also without the words before", () => {
        const bare = { ...record, addresses: [], defaultGateways: [], attachedBy: "meta-plugin" as const };
        expect(toNetworkAlias(bare)).toMatch(/ - - - meta$/);
        expect(fromNetworkAlias(toNetworkAlias(bare))).toEqual(keptOf(bare));
        expect(fromNetworkAlias(toNetworkAlias({ ...record, attachedBy: "meta-plugin" }))?.attachedBy).toBe(
            "meta-plugin",
        );
    });

    it("of an earlier agent has no addresses", () => {
        const [word = ""] = toNetworkAlias(record).split(" ").slice(-1);
        expect(fromNetworkAlias(toNetworkAlias(record).replace(` ${word}`, ""))?.addresses).toEqual([]);
    });

    it("names the container to all who look for links of containers, and no interface on the Pod network", () => {
        const alias = toNetworkAlias(record);
        expect(containerOfAlias(alias)).toBe(record.containerId);
        expect(fromAlias(alias)).toBeUndefined();
        expect(fromNetworkAlias(toAlias(podRecord()))).toBeUndefined();
    });

    it.each<[string, string | undefined]>([
        ["nothing", undefined],
        ["empty", ""],
        ["somebody's words", "uplink to rack 4"],
        ["pending", "antrea3 abc"],
        ["without MAC", toNetworkAlias(record).replace(record.mac, "-")],
        ["without MTU", toNetworkAlias(record).replace(" 1500 ", " - ")],
        ["with an MTU that is none", toNetworkAlias(record).replace(" 1500 ", " 1e3 ")],
        ["with an MTU beyond all", toNetworkAlias(record).replace(" 1500 ", " 150000 ")],
        ["truncated", toNetworkAlias(record).split(" ").slice(0, 7).join(" ")],
        ["with truncated addresses", toNetworkAlias(record).slice(0, -2)],
        ["with a prefix that is too long", `${toNetworkAlias({ ...record, addresses: [] })} IQoBAAU`],
        ["of a later version", toNetworkAlias(record).replace("antrea3", "antrea4")],
    ])("is none: %s", (_, alias) => {
        expect(fromNetworkAlias(alias)).toBeUndefined();
    });
});
