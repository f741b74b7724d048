import { describe, expect, it } from "@jest/globals";
import { formatIp, parseIp, parsePrefix, type IpAddress } from "@antrea/ip";
import type { Link } from "@antrea/netlink";
import type { KnownPod, StoredPort } from "../../../src/features/pod-network/found-records.ts";
import { rebuild, type Rebuilt } from "../../../src/features/pod-network/rebuild.ts";
import { addressOf, podRecord, testBootId } from "../../support/records.ts";
import { isOfNetwork, type PodRecord, toAlias, toExternalIds } from "../../../src/platform/pod-interfaces/index.ts";

const podPrefixes = [parsePrefix("10.10.1.0/24"), parsePrefix("fd10:10:0:1::/64")];

function portOf(record: PodRecord, ofPort: number | undefined = 32784, ids: Record<string, string> = {}): StoredPort {
    return {
        name: record.hostIfName,
        externalIds: new Map(Object.entries({ ...toExternalIds(record), ...ids })),
        ofPort,
    };
}

function linkOf(record: Pick<PodRecord, "hostIfName">, alias?: string): Link {
    return {
        index: 7,
        name: record.hostIfName,
        kind: "veth",
        type: 1,
        mac: "0e:58:0a:0a:01:05",
        mtu: 1500,
        up: true,
        running: true,
        loopback: false,
        group: 0,
        altNames: [],
        promiscuous: false,
        ...(alias === undefined ? {} : { alias }),
    };
}

function podOf(record: PodRecord, changes: Partial<KnownPod> = {}): KnownPod {
    return {
        uid: record.podUid,
        namespace: record.podNamespace,
        name: record.podName,
        hostNetwork: false,
        ended: false,
        hasSandbox: true,
        podIps: record.addresses.map(({ ip }) => ip),
        ...changes,
    };
}

function run(input: {
    readonly ports?: readonly StoredPort[];
    readonly links?: readonly Link[];
    readonly pods?: readonly KnownPod[];
}): Rebuilt {
    const poolOf = (ip: IpAddress): string | undefined => (formatIp(ip) === "10.2.0.12" ? "pool1" : undefined);
    return rebuild({ ports: [], links: [], pods: [], bootId: testBootId, podPrefixes, poolOf, ...input });
}

function held(rebuilt: Rebuilt): readonly string[] {
    return rebuilt.held.map(({ ip, podUid }) => `${formatIp(ip)} ${podUid}`);
}

const one = podRecord({ addresses: [addressOf("10.10.1.5/24"), addressOf("fd10:10:0:1::5/64")] });
const other = podRecord({
    containerId: "cd34".repeat(16),
    podName: "web-1",
    podUid: "uid-1",
    hostIfName: "web-1-123456",
    mac: "0a:58:0a:0a:01:06",
    addresses: [addressOf("10.10.1.6/24"), addressOf("fd10:10:0:1::6/64")],
});

describe("with one source", () => {
    it("nothing is nothing", () => {
        expect(run({})).toEqual({ kept: [], dropped: [], held: [] });
    });

    it("OVSDB alone: the record as it is, its link or not", () => {
        const expected = { kept: [{ record: one, ofPort: 40_000 }], dropped: [], held: [] };
        expect(run({ ports: [portOf(one, 40_000)] })).toEqual(expected);
        expect(run({ ports: [portOf(one, 40_000)], links: [linkOf(one)] })).toEqual(expected);
    });

    it("OVSDB alone: a port without a number is kept, to be given one", () => {
        const port: StoredPort = { ...portOf(one), ofPort: undefined };
        expect(run({ ports: [port] }).kept).toEqual([{ record: one, ofPort: undefined }]);
    });

    it("the links alone (a lost database): addresses, gateways and MAC from the alias", () => {
        expect(run({ links: [linkOf(one, toAlias(one))] })).toEqual({
            kept: [{ record: { ...one, podNamespace: "", podName: "", netns: "", network: "#" }, ofPort: undefined }],
            dropped: [],
            held: [],
        });
    });

    it("the links and the API server: the Pod's names too, and nothing is held twice", () => {
        expect(run({ links: [linkOf(one, toAlias(one))], pods: [podOf(one)] })).toEqual({
            kept: [{ record: { ...one, netns: "", network: "#" }, ofPort: undefined }],
            dropped: [],
            held: [],
        });
    });

    it("the links alone: which network it is, as far as the alias shows", () => {
        const networkOf = (alias: string): string | undefined =>
            run({ links: [linkOf(one, alias)] }).kept[0]?.record.network;
        const rebuilt = networkOf(toAlias({ ...one, network: "storage" })) ?? "";
        expect([isOfNetwork(rebuilt, "storage"), isOfNetwork(rebuilt, "antrea")]).toEqual([true, false]);
        const earlier = networkOf(toAlias({ ...one, network: undefined })) ?? "";
        expect([isOfNetwork(earlier, "storage"), isOfNetwork(earlier, "antrea")]).toEqual([undefined, undefined]);
        // Written to OVSDB and read again, as by the next start of an agent.
        const again = run({ ports: [portOf({ ...one, network: rebuilt })], links: [linkOf(one)] });
        expect(again.kept[0]?.record.network).toBe(rebuilt);
    });

    it("the links and the API server: the names of a static Pod, whose object has another UID", () => {
        const mirror = podOf(one, { uid: "uid-mirror", staticUid: one.podUid });
        const rebuilt = run({ links: [linkOf(one, toAlias(one))], pods: [podOf(other), mirror] });
        expect(rebuilt.kept).toEqual([{ record: { ...one, netns: "", network: "#" }, ofPort: undefined }]);
    });

    it("OVSDB and the API server: the Pod's names too, when the record was rebuilt from its link while nobody knew them", () => {
        const unnamed = portOf({ ...one, podNamespace: "", podName: "" });
        const pods = [podOf(other, { staticUid: one.podUid }), podOf(one)];
        expect(run({ ports: [unnamed], pods }).kept).toEqual([{ record: one, ofPort: 32784 }]);
        const mirror = podOf(one, { uid: "uid-mirror", staticUid: one.podUid });
        expect(run({ ports: [unnamed], pods: [mirror] }).kept[0]?.record).toEqual(one);
        // Names that CNI passed stand, and without a UID no Pod is looked for.
        expect(run({ ports: [portOf(one)], pods: [podOf(one, { name: "web-9" })] }).kept[0]?.record).toEqual(one);
        const unknown = { ...one, podNamespace: "", podName: "", podUid: "" };
        expect(run({ ports: [portOf(unknown)], pods: [podOf(unknown)] }).kept[0]?.record).toEqual(unknown);
    });

    it("the API server alone: the addresses in our podCIDRs are held, host network and other addresses are not", () => {
        const rebuilt = run({
            pods: [
                podOf(one),
                podOf(other, { hostNetwork: true }),
                podOf(other, { uid: "uid-2", podIps: [parseIp("10.99.0.1")] }),
            ],
        });
        expect(rebuilt.kept).toEqual([]);
        expect(held(rebuilt)).toEqual([`10.10.1.5 ${one.podUid}`, `fd10:10:0:1::5 ${one.podUid}`]);
    });
});

describe("addresses of pools", () => {
    const gateway = parseIp("10.2.0.254");
    const pooled = podRecord({
        hostIfName: "web-1-abcdef",
        mac: "0a:58:0a:02:00:0c",
        addresses: [{ ...addressOf("10.2.0.12/24"), gateway, pool: "pool1" }],
        vlan: 3,
    });

    it("are rebuilt from the link with their gateway and VLAN, and the pool that the allocations report", () => {
        const rebuilt = run({ links: [linkOf(pooled, toAlias(pooled))], pods: [podOf(pooled)] });
        expect(rebuilt.kept).toEqual([{ record: { ...pooled, netns: "", network: "#" }, ofPort: undefined }]);
    });

    describe("of two live interfaces", () => {
        const rival: PodRecord = {
            ...pooled,
            containerId: "cd34".repeat(16),
            podUid: "uid-2",
            hostIfName: "web-2-abcdef",
        };
        const links = [linkOf(pooled, toAlias(pooled)), linkOf(rival, toAlias(rival))];
        const shown = (rebuilt: Rebuilt): unknown =>
            rebuilt.kept.map(({ record }) => [record.hostIfName, record.isolated === true]).sort();

        it.each([
            ["first", (isolated: PodRecord) => [isolated, rival]],
            ["last", (isolated: PodRecord) => [rival, isolated]],
        ])("one that is isolated takes nothing from the other, when its record comes %s", (_, order) => {
            const ports = order({ ...pooled, isolated: true }).map((record) => portOf(record));
            const rebuilt = run({ ports, links });
            expect(rebuilt.kept.map(({ isUndecided }) => isUndecided)).toEqual([undefined, undefined]);
            expect(rebuilt.dropped).toEqual([]);
            expect(shown(rebuilt)).toEqual([
                [pooled.hostIfName, true],
                [rival.hostIfName, false],
            ]);
        });

        it.each([
            ["with their records", [portOf(pooled), portOf(rival)]],
            ["with one record", [portOf(rival)]],
            ["without records", []],
        ])("neither is dropped %s: both are isolated until the allocations are read", (_, ports) => {
            const rebuilt = run({ ports, links });
            expect(rebuilt.dropped).toEqual([]);
            expect(rebuilt.kept.map(({ isUndecided }) => isUndecided)).toEqual([true, true]);
            expect(shown(rebuilt)).toEqual([
                [pooled.hostIfName, true],
                [rival.hostIfName, true],
            ]);
        });

        describe("with an address of the Node's subnet, which a pool has too,", () => {
            const { pool: _, ...address } = { ...addressOf("10.10.1.5/24"), pool: "" };
            const ofSubnet = podRecord({ addresses: [address] });
            const claimed: PodRecord = { ...rival, addresses: [{ ...address, pool: "wide" }] };
            const both = [linkOf(ofSubnet, toAlias(ofSubnet)), linkOf(claimed, toAlias(claimed))];

            it.each([
                ["with their records", [portOf(ofSubnet), portOf(claimed)]],
                ["with their records, the other way round", [portOf(claimed), portOf(ofSubnet)]],
                ["without records", []],
            ])("neither is dropped %s: both are isolated until the allocations are read", (__, ports) => {
                const rebuilt = run({ ports, links: both });
                expect(rebuilt.dropped).toEqual([]);
                expect(shown(rebuilt)).toEqual([
                    [ofSubnet.hostIfName, true],
                    [claimed.hostIfName, true],
                ]);
            });

            it("the one of the subnet stays isolated by its link alone, and takes nothing from the other", () => {
                const isolated = { ...ofSubnet, isolated: true };
                const rebuilt = run({ links: [linkOf(isolated, toAlias(isolated)), both[1] as Link] });
                expect(shown(rebuilt)).toEqual([
                    [ofSubnet.hostIfName, true],
                    [claimed.hostIfName, false],
                ]);
            });

            it("two of the subnet are not both kept: no allocation decides between them", () => {
                const twin = { ...rival, addresses: [address] };
                const links = [both[0] as Link, linkOf(twin, toAlias(twin))];
                const rebuilt = run({ ports: [portOf(ofSubnet), portOf(twin)], links });
                expect(rebuilt.dropped.map(({ port }) => port.name)).toEqual([twin.hostIfName]);
            });
        });

        it("one whose link is gone is dropped", () => {
            const rebuilt = run({ ports: [portOf(pooled), portOf(rival)], links: [linkOf(rival, toAlias(rival))] });
            expect(rebuilt.dropped.map(({ port }) => port.name)).toEqual([pooled.hostIfName]);
            expect(shown(rebuilt)).toEqual([[rival.hostIfName, false]]);
        });
    });

    it("stay addresses of a pool when no allocation reports which", () => {
        const addresses = [{ ...addressOf("10.2.0.13/24"), gateway, pool: "gone" }];
        const rebuilt = run({ links: [linkOf(pooled, toAlias({ ...pooled, addresses }))] });
        expect(rebuilt.kept[0]?.record.addresses).toEqual([{ ...addressOf("10.2.0.13/24"), gateway, pool: "" }]);
    });
});

describe("what is not ours", () => {
    it("ports and links of others are no records and are not dropped", () => {
        const rebuilt = run({
            ports: [
                { name: "antrea-gw0", externalIds: new Map([["antrea-type", "gateway"]]), ofPort: 32769 },
                { name: "vm1", externalIds: new Map([["iface-id", "x"]]), ofPort: 3 },
                { name: "bare", externalIds: new Map(), ofPort: 4 },
            ],
            links: [
                linkOf({ hostIfName: "eth0" }),
                linkOf({ hostIfName: "veth1" }, "a bridge of docker"),
                linkOf({ hostIfName: "old" }, "antrea1 released"),
            ],
        });
        expect(rebuilt).toEqual({ kept: [], dropped: [], held: [] });
    });
});

describe("what stands for nothing", () => {
    it("a record of another boot is dropped, and its address is free", () => {
        const rebuilt = run({ ports: [portOf(one, 32784, { "boot-id": "another" }), portOf(other)] });
        expect(rebuilt.dropped).toEqual([
            {
                port: portOf(one, 32784, { "boot-id": "another" }),
                why: expect.stringContaining("another boot"),
                level: "info",
            },
        ]);
        expect(rebuilt.kept.map(({ record }) => record)).toEqual([other]);
        expect(rebuilt.held).toEqual([]);
    });

    it("so is an alias of another boot", () => {
        const alias = toAlias({ ...one, bootId: "ffffffff-2b3d-4e5f-8a9b-0c1d2e3f4a5b" });
        expect(run({ links: [linkOf(one, alias)] }).kept).toEqual([]);
    });

    it("an unfinished record is dropped", () => {
        const rebuilt = run({ ports: [portOf(one, 32784, { "ip-address": "" })] });
        expect(rebuilt.dropped).toEqual([
            {
                port: portOf(one, 32784, { "ip-address": "" }),
                why: expect.stringContaining("no addresses"),
                level: "warn",
            },
        ]);
    });

    it("an unfinished record whose link reports the addresses is rebuilt from the link", () => {
        const rebuilt = run({
            ports: [portOf(one, 32784, { "ip-address": "" })],
            links: [linkOf(one, toAlias(one))],
            pods: [podOf(one)],
        });
        expect(rebuilt.dropped).toHaveLength(1);
        expect(rebuilt.kept).toEqual([{ record: { ...one, netns: "", network: "#" }, ofPort: undefined }]);
    });

    it("a record without a boot id, of an older version, is kept", () => {
        expect(run({ ports: [portOf(one, 32784, { "boot-id": "" })] }).kept).toHaveLength(1);
    });
});

describe("two that claim one address", () => {
    const rival = { ...other, addresses: [addressOf("10.10.1.9/24"), addressOf("fd10:10:0:1::5/64")] };

    it.each([
        ["first", [portOf(one), portOf(rival)]],
        ["second", [portOf(rival), portOf(one)]],
    ])("the one whose link lives is right, although its port is %s", (_, ports) => {
        const rebuilt = run({ ports, links: [linkOf(one)] });
        expect(rebuilt.kept.map(({ record }) => record)).toEqual([one]);
        expect(rebuilt.dropped).toEqual([
            {
                port: portOf(rival),
                why: `address fd10:10:0:1::5 is recorded for container ${one.containerId} too`,
                level: "warn",
            },
        ]);
    });

    it("what the loser shares with nobody is free for others", () => {
        const third = { ...podRecord({ containerId: "ee", hostIfName: "c" }), addresses: [addressOf("10.10.1.9/24")] };
        const rebuilt = run({
            ports: [portOf(one), portOf(rival), portOf(third)],
            links: [linkOf(one), linkOf(third)],
        });
        expect(rebuilt.kept.map(({ record }) => record.hostIfName)).toEqual([one.hostIfName, third.hostIfName]);
    });

    it("a record in OVSDB beats an alias", () => {
        const rebuilt = run({ ports: [portOf(one)], links: [linkOf(rival, toAlias(rival))] });
        expect(rebuilt.kept.map(({ record }) => record)).toEqual([one]);
        expect(rebuilt.dropped).toEqual([]);
    });

    it("an address that a live interface of another Pod has is not held for the Pod that claims it", () => {
        const rebuilt = run({ ports: [portOf(one)], pods: [podOf(other, { podIps: [parseIp("10.10.1.5")] })] });
        expect(rebuilt.held).toEqual([]);
    });
});

it("all sources together: each interface once, the rest held", () => {
    const third = podRecord({ podUid: "uid-3", addresses: [addressOf("10.10.1.7/24")] });
    const rebuilt = run({
        ports: [portOf(one, 33_000)],
        links: [linkOf(one, toAlias(one)), linkOf(other, toAlias(other))],
        pods: [podOf(one), podOf(other), podOf(third)],
    });
    expect(rebuilt.kept.map(({ record, ofPort }) => [record.hostIfName, ofPort])).toEqual([
        [one.hostIfName, 33_000],
        [other.hostIfName, undefined],
    ]);
    expect(held(rebuilt)).toEqual(["10.10.1.7 uid-3"]);
});
