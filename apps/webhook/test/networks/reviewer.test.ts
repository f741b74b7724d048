import { describe, expect, it } from "@jest/globals";
import { type IpPool } from "@antrea/crd";
import { clusterAddresses, PoolIndex, readPool } from "@antrea/ipam";
import { type NetworkAttachmentDefinition } from "@antrea/kube";
import { resourceNameAnnotation } from "@antrea/networks";
import { NetworkReviewer, type NetworkVerdict } from "../../src/networks/index.ts";
import { networkOf, poolOf, type RangeFields } from "../support/objects.ts";

const { signal } = new AbortController();

const range = (start: string, end: string, vlan?: number): RangeFields => {
    const gateway = start.includes(":") ? "fd00:1::1" : start.replace(/\d+$/, "1");
    return { start, end, gateway, prefixLength: start.includes(":") ? 64 : 24, ...(vlan !== undefined && { vlan }) };
};
const deleting = (pool: object): object => ({
    ...pool,
    metadata: { ...(pool as IpPool).metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
});
const stored = [
    poolOf("four", range("10.1.0.10", "10.1.0.20", 100)),
    poolOf("six", range("fd00:1::10", "fd00:1::20", 100)),
    poolOf("other", range("10.2.0.10", "10.2.0.20", 200)),
    poolOf("untagged", range("10.3.0.10", "10.3.0.20")),
    poolOf("both", range("10.4.0.10", "10.4.0.20", 100), range("10.5.0.10", "10.5.0.20", 200)),
    // with its gateway 10.7.0.1 in the range
    poolOf("gate", range("10.7.0.1", "10.7.0.20", 200)),
    deleting(poolOf("leaving", range("10.6.0.10", "10.6.0.20", 100))),
] as readonly IpPool[];

function indexOf(pools: readonly IpPool[]): PoolIndex {
    const index = new PoolIndex(() => clusterAddresses([]));
    for (const pool of pools) index.set(readPool(pool));
    return index;
}

/** A reviewer that knows the first pools, while the second are stored. */
class Known {
    readonly asked: string[] = [];
    readonly reviewer: NetworkReviewer;

    constructor(known: readonly IpPool[] = stored, now: readonly IpPool[] = stored) {
        const index = indexOf(known);
        this.reviewer = new NetworkReviewer({
            pools: {
                pool: (name) => index.pool(name),
                overlapping: (one) => index.overlapping(one),
                live: async (names) => {
                    this.asked.push([...names].join());
                    return indexOf(now);
                },
            },
        });
    }

    async review(object: NetworkAttachmentDefinition, old?: NetworkAttachmentDefinition): Promise<NetworkVerdict> {
        const { refusal, warnings } = await this.reviewer.review({ namespace: "default", old, object }, signal);
        return { ...(refusal !== undefined && { refusal }), warnings };
    }
}

const vlan = { cniVersion: "0.3.0", type: "antrea", networkType: "vlan" };
const macvlan = { cniVersion: "1.0.0", name: "macnet", type: "macvlan", master: "eth0" };
const ipam = (section: object): object => ({ ipam: { type: "antrea", ...section } });
const resource = { [resourceNameAnnotation]: "intel.com/sriov" };
const clean = { warnings: [] };

async function verdictOn(config: unknown, annotations = {}): Promise<NetworkVerdict> {
    return new Known().review(networkOf("net1", config, annotations));
}

describe("a network is accepted", () => {
    it.each<[string, unknown]>([
        ["of type antrea with a VLAN", { ...vlan, vlan: 100 }],
        ["with IPPools of one VLAN", { ...vlan, ...ipam({ ippools: ["four", "six"] }) }],
        [
            "with IPPools of several VLANs and one of its own",
            { ...vlan, vlan: 5, ...ipam({ ippools: ["four", "other"] }) },
        ],
        ["with one IPPool of several VLANs, of which an address has one", { ...vlan, ...ipam({ ippools: ["both"] }) }],
        [
            "with static addresses outside of IPPools",
            { ...vlan, ...ipam({ ippools: ["four"], addresses: [{ address: "192.168.0.5/24" }] }) },
        ],
        ["that is a list of the one plugin", { cniVersion: "0.3.0", name: "x", plugins: [{ ...vlan, vlan: 0 }] }],
        ["of another plugin with addresses of ours", { ...macvlan, ...ipam({ ippools: ["four", "other"] }) }],
        ["of another plugin, all of whose addresses are requested", { ...macvlan, ...ipam({}) }],
        [
            "of a list of other plugins",
            {
                cniVersion: "1.0.0",
                name: "x",
                plugins: [{ ...macvlan, ...ipam({ ippools: ["six"] }) }, { type: "tuning" }],
            },
        ],
        [
            "of another plugin with rules of its own",
            { ...macvlan, vlan: "antrea", ipam: { type: "static", ippools: 7 } },
        ],
        ["of another plugin without a type", { name: "antrea" }],
        ["without configuration", undefined],
        ["with an empty configuration, which is a file on the Node", ""],
        ["of a text that is not JSON and names nothing of ours", "{,"],
        ["of JSON that is no configuration and names nothing of ours", "[7]"],
    ])("%s", async (_name, config) => {
        expect(await verdictOn(config)).toEqual(clean);
    });
});

describe("a network is refused", () => {
    it.each<[string, unknown, RegExp]>([
        [
            "a comma too many",
            '{"type": "antrea",}',
            /^network default\/net1: spec\.config: .*is not valid JSON.*; next: /s,
        ],
        [
            "a list in place of an object",
            [vlan],
            /^network default\/net1: spec\.config: .*is not a JSON object; next: /,
        ],
        ["an unknown networkType", { ...vlan, networkType: "vxlan" }, /networkType: "vxlan" is not supported; next: /],
        ["no networkType", { ...vlan, networkType: undefined }, /networkType: nothing is not supported/],
        ["a VLAN of 4095", { ...vlan, vlan: 4095 }, /vlan: 4095 must be a whole number from 0 to 4094; next: /],
        ["an MTU of 67", { ...vlan, mtu: 67 }, /mtu: 67 must be 0 \(not set\) or from 68 to 65535; next: /],
        [
            "an MTU too small for IPv6",
            { ...vlan, mtu: 1000, ...ipam({ addresses: [{ address: "fd00::5/64" }] }) },
            /mtu: 1000 is under 1280, the minimum of IPv6 \(RFC 8200\); next: raise it/,
        ],
        ["a version of CNI of the future", { ...vlan, cniVersion: "9.0.0" }, /9\.0\.0/],
        [
            "IPAM of another plugin",
            { ...vlan, ipam: { type: "host-local" } },
            /ipam\.type: "host-local" gives no addresses/,
        ],
        ["IPAM without any address", { ...vlan, ...ipam({}) }, /ipam: .*has neither IPPools nor addresses; next: /],
        ["a name that no IPPool can have", { ...vlan, ...ipam({ ippools: ["Four"] }) }, /ipam\.ippools: .*"Four"/],
        ["an IPPool twice", { ...vlan, ...ipam({ ippools: ["four", "four"] }) }, /ipam\.ippools: .*names "four" twice/],
        [
            "a static address without prefix length",
            { ...vlan, ...ipam({ addresses: [{ address: "10.1.0.5" }] }) },
            /ipam\.addresses\[0\]\.address: "10\.1\.0\.5" is refused/,
        ],
        [
            "a static address twice",
            { ...vlan, ...ipam({ addresses: [{ address: "10.1.0.5/24" }, { address: "10.1.0.5/16" }] }) },
            /^network default\/net1: ipam\.addresses: has 10\.1\.0\.5 twice; next: remove one of them$/,
        ],
        ["a further plugin", { name: "x", plugins: [vlan, { type: "tuning" }] }, /has more than one plugin; next: /],
        ["an empty list of plugins", { ...vlan, plugins: [] }, /plugins: \[\] must be a list of objects; next: /],
        [
            "an IPAM section of another plugin",
            { ...macvlan, ...ipam({ ippools: "four" }) },
            /^network default\/net1: ipam\.ippools: "four" must be a list; next: correct spec\.config$/,
        ],
        [
            "an IPAM section in a list of other plugins",
            { name: "x", plugins: [{ type: "bridge" }, { ...macvlan, ...ipam({ addresses: [{ address: "ten" }] }) }] },
            /^network default\/net1: plugins\[1\]\.ipam\.addresses\[0\]\.address: "ten" is refused/,
        ],
        ["a section of ours without a plugin", ipam({ ippools: ["four"] }), /type: nothing must name a plugin/],
        ["a VLAN of type sriov", { ...vlan, networkType: "sriov", vlan: 5 }, /vlan: 5 has no effect/],
    ])("for %s", async (_name, config, text) => {
        expect(await verdictOn(config, resource)).toEqual({ refusal: expect.stringMatching(text), warnings: [] });
    });

    it("for a missing resource of type sriov", async () => {
        expect((await verdictOn({ ...vlan, networkType: "sriov" })).refusal).toMatch(/resourceName: "" is missing/);
    });
});

describe("a network is accepted with a warning", () => {
    it.each<[string, unknown, readonly string[]]>([
        [
            "about each IPPool that does not exist",
            { ...vlan, vlan: 7, ...ipam({ ippools: ["four", "no", "none"] }) },
            ["no", "none"].map(
                (name) =>
                    `network default/net1: ipam.ippools "${name}": there is no IPPool of this name yet; Pods on this network do not start until it is created`,
            ),
        ],
        [
            "about keys that have no effect",
            { ...vlan, vlanId: 5, disableCheck: true, ...ipam({ ippools: ["four"], adresses: [], range: "x" }) },
            ["network default/net1: keys without effect: vlanId, ipam.adresses, ipam.range; correct or remove them"],
        ],
        [
            "about keys of the IPAM section of another plugin, whose own keys are not known",
            { ...macvlan, ...ipam({ ippools: ["four"], gateway: "10.1.0.1" }) },
            ["network default/net1: keys without effect: ipam.gateway; correct or remove them"],
        ],
        [
            "about an IPPool that another plugin needs",
            { name: "x", plugins: [{ ...macvlan, ...ipam({ ippools: ["none"] }) }] },
            [expect.stringContaining('ipam.ippools "none": there is no IPPool') as unknown as string],
        ],
        [
            "about an IPPool that is being deleted",
            { ...vlan, ...ipam({ ippools: ["leaving"] }) },
            [
                'network default/net1: ipam.ippools "leaving": is being deleted and hands out no new address; name another IPPool',
            ],
        ],
        [
            "about IPPools of several VLANs",
            { ...vlan, ...ipam({ ippools: ["six", "other"] }) },
            [
                "network default/net1: its IPPools six and other have the VLANs 100 and 200, and an interface has one; set vlan in the network, or name IPPools of one VLAN",
            ],
        ],
        [
            "about an IPPool without VLAN beside one with",
            { ...vlan, vlan: 0, ...ipam({ ippools: ["untagged", "six"] }) },
            [expect.stringContaining("IPPools untagged and six have the VLANs 0 and 100") as unknown as string],
        ],
        [
            "about an IPPool that has a second VLAN",
            { ...vlan, ...ipam({ ippools: ["four", "both"] }) },
            [expect.stringContaining("IPPools four and both have the VLANs 100 and 200") as unknown as string],
        ],
        [
            "about a static address in an IPPool of another VLAN",
            { ...vlan, ...ipam({ ippools: ["six"], addresses: [{ address: "10.2.0.15/24" }] }) },
            [expect.stringContaining("IPPools six and other have the VLANs 100 and 200") as unknown as string],
        ],
    ])("%s", async (_name, config, warnings) => {
        expect(await verdictOn(config)).toEqual({ warnings });
    });

    it("about VLANs of IPPools for type sriov, not: they have no effect there", async () => {
        const config = { ...vlan, networkType: "sriov", ...ipam({ ippools: ["four", "other"] }) };
        expect(await verdictOn(config, resource)).toEqual(clean);
    });

    it("about VLANs that a static address of the IPPool itself settles, not", async () => {
        const addresses = [{ address: "10.4.0.15/24" }];
        expect(await verdictOn({ ...vlan, ...ipam({ ippools: ["six", "both"], addresses }) })).toEqual(clean);
        const [other] = [{ address: "10.5.0.15/24" }];
        expect(await verdictOn({ ...vlan, ...ipam({ ippools: ["six", "both"], addresses: [other] }) })).toEqual({
            warnings: [expect.stringContaining("VLANs 100 and 200")],
        });
    });
});

describe("a static address in a range of another IPPool", () => {
    const withAddress = (address: string): object => ({
        ...vlan,
        ...ipam({ ippools: ["four"], addresses: [{ address }] }),
    });

    it("counts as one of that pool, unless the pool does not hand it out", async () => {
        expect(await verdictOn(withAddress("10.7.0.5/24"))).toEqual({
            warnings: [expect.stringContaining("IPPools four and gate have the VLANs 100 and 200")],
        });
        expect(await verdictOn(withAddress("10.7.0.1/24"))).toEqual(clean);
    });
});

describe("the pools", () => {
    const config = { ...vlan, ...ipam({ ippools: ["four", "six"] }) };

    it("are read before a warning, and only then", async () => {
        const late = new Known([], stored);
        expect(await late.review(networkOf("net1", config))).toEqual(clean);
        expect(late.asked).toEqual(["four,six"]);
        const known = new Known(stored, []);
        expect(await known.review(networkOf("net1", config))).toEqual(clean);
        expect(known.asked).toEqual([]);
    });
});

describe("an update", () => {
    const [bad, none] = [networkOf("net1", { ...vlan, vlan: 5000 }), networkOf("net1", vlan)];

    it("that leaves a wrong network as it is, is accepted", async () => {
        const labelled = { ...bad, metadata: { ...bad.metadata, labels: { a: "b" } } };
        expect(await new Known().review(labelled, bad)).toEqual(clean);
    });

    it("of the configuration is reviewed", async () => {
        expect((await new Known().review(bad, none)).refusal).toMatch(/vlan: 5000/);
        expect(await new Known().review(none, bad)).toEqual(clean);
    });

    it("that takes the resource of a device plugin away is reviewed", async () => {
        const sriov = { ...vlan, networkType: "sriov" };
        const [before, after] = [networkOf("net1", sriov, resource), networkOf("net1", sriov)];
        expect((await new Known().review(after, before)).refusal).toMatch(/resourceName/);
    });
});

it("a network whose name the API server generates has the name's beginning in messages", async () => {
    const object = { metadata: { generateName: "net-" }, spec: { config: JSON.stringify({ ...vlan, vlan: -1 }) } };
    expect((await new Known().review(object)).refusal).toMatch(/^network default\/net-: vlan: -1/);
});
