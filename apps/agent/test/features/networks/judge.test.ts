import { describe, expect, it } from "@jest/globals";
import { CniCallError } from "@antrea/cni";
import { formatIp, parseIp, type IpAddress } from "@antrea/ip";
import {
    NetworkError,
    parseNetwork,
    parseSelections,
    resourceNameAnnotation,
    type NetworkSelection,
    type OwnNetwork,
} from "@antrea/networks";
import { NetworksError } from "../../../src/features/networks/errors.ts";
import { judge, interfaceRequestOf, type Surroundings } from "../../../src/features/networks/judge.ts";
import type { PlannedNetwork } from "../../../src/platform/pod-interfaces/index.ts";

const whole: Surroundings = { bridgeProblem: undefined, nicMtu: 1500, poolOf: () => undefined };

/** A network `default/net1` of type vlan with further keys, read as from the API server. */
function network(keys: Readonly<Record<string, unknown>> = {}): OwnNetwork {
    const config = JSON.stringify({ cniVersion: "1.0.0", type: "antrea", networkType: "vlan", ...keys });
    const annotations = { [resourceNameAnnotation]: "intel.com/sriov" };
    const parsed = parseNetwork({ namespace: "default", name: "net1", annotations, config });
    if (parsed.kind === "foreign") throw new Error("of another plugin");
    return parsed;
}

/** The element of an annotation that requests it. */
function selection(keys: Readonly<Record<string, unknown>> = {}): NetworkSelection {
    const [one] = parseSelections(JSON.stringify([{ name: "net1", ...keys }]), "default");
    if (one === undefined) throw new Error("nothing is requested");
    return one;
}

function plan(
    ofNetwork: OwnNetwork,
    requested: NetworkSelection = selection(),
    surroundings: Partial<Surroundings> = {},
): PlannedNetwork {
    return judge(ofNetwork, interfaceRequestOf(requested, ofNetwork), { ...whole, ...surroundings });
}

function refusal(...input: Parameters<typeof plan>): { readonly code: string; readonly message: string } {
    try {
        plan(...input);
    } catch (error) {
        if (error instanceof NetworksError || error instanceof NetworkError || error instanceof CniCallError)
            return error;
        throw error;
    }
    return { code: "none", message: "accepted" };
}

const pooled = { ipam: { type: "antrea", ippools: ["pool1"] } };

/** `ADDRESS/LENGTH via GATEWAY` for a static address, the number of the demand for one of a pool. */
function orderOf({ addresses }: PlannedNetwork): readonly string[] {
    return (addresses?.order ?? []).map((one) =>
        typeof one === "number"
            ? String(one)
            : `${formatIp(one.ip)}/${one.prefixLength} via ${one.gateway && formatIp(one.gateway)}`,
    );
}

function demandsOf({ addresses }: PlannedNetwork): readonly string[] {
    return (addresses?.demands ?? []).map(({ pool, fixed }) => `${pool} ${fixed && formatIp(fixed)}`);
}

describe("a network of kind sriov", () => {
    const device = { bus: "pci", id: "0000:af:06.0", linkName: "ens1f0v0", linkMtu: 9000 } as const;
    const planned = (keys: Readonly<Record<string, unknown>> = {}, linkMtu = 9000): PlannedNetwork => {
        const one = network({ networkType: "sriov", ...keys });
        const found = { ...device, linkMtu, mac: "02:00:00:00:00:01" };
        const request = { ...interfaceRequestOf(selection(), one), device: found };
        // No bridge is needed, and the NICs of one do not matter.
        return judge(one, request, { ...whole, bridgeProblem: "there is none", nicMtu: 0 });
    };

    it("is its device, with the MAC address that it has", () => {
        expect(planned()).toMatchObject({ device, mac: "02:00:00:00:00:01", vlan: undefined });
    });

    it("has the MTU of the network, else 1500, or that of the device if it is less", () => {
        expect([{ mtu: 9000 }, { mtu: 1400 }, {}].map((keys) => planned(keys).mtu)).toEqual([9000, 1400, 1500]);
        expect(planned({}, 1450).mtu).toBe(1450);
    });

    it("has addresses as others", () => {
        expect(demandsOf(planned(pooled))).toEqual(["pool1 undefined"]);
    });
});

describe("a network that is refused", () => {
    it.each<[string, string, readonly string[], Parameters<typeof plan>]>([
        [
            "of kind sriov of which a MAC address is requested",
            "BAD_REQUEST",
            ["mac: 02:00:00:00:00:07", "keeps its MAC address", "next: request none"],
            [network({ networkType: "sriov" }), selection({ mac: "02:00:00:00:00:07" })],
        ],
        [
            "with an MTU above that of the NICs",
            "BAD_MTU",
            ["mtu: 1501", "1500", "next: lower it"],
            [network({ mtu: 1501 })],
        ],
        [
            "without IPAM of which addresses are requested",
            "BAD_REQUEST",
            ["ips: 10.2.0.7, fd00::7", "no ipam", "next: request no address"],
            [network(), selection({ ips: ["10.2.0.7/24", "fd00::7/64"] })],
        ],
        [
            "with IPPools while the feature gate AntreaIPAM is off",
            "NO_POOLS",
            ["ipam.ippools: pool1, pool2", "AntreaIPAM is off", "next: install with featureGates.AntreaIPAM=true"],
            [
                network({ ipam: { type: "antrea", ippools: ["pool1", "pool2"] } }),
                selection(),
                { ...whole, poolOf: undefined },
            ],
        ],
    ])("names network, field, value, rule and next step: %s", (_, code, words, input) => {
        const { message, ...rest } = refusal(...input);
        expect(rest.code).toBe(code);
        expect(message).toMatch(/^network default\/net1: /);
        for (const word of words) expect(message).toContain(word);
    });

    it("that the bridge causes has the reason of the bridge", () => {
        const { code, message } = refusal(network(), selection(), { bridgeProblem: "no NIC is connected; wait" });
        expect([code, message]).toEqual(["NO_BRIDGE", "network default/net1: no NIC is connected; wait"]);
    });

    it("without IPAM is not refused without requested addresses", () => {
        expect(plan(network()).addresses).toBeUndefined();
    });

    it.each<[string, Parameters<typeof plan>, RegExp]>([
        [
            "the same address twice",
            [network(pooled), selection({ ips: ["10.9.0.7/24", "10.9.0.7/16"] })],
            /^ips: has 10\.9\.0\.7 twice; next: remove one/,
        ],
        [
            "an address without prefix length that no IPPool contains",
            [network(pooled), selection({ ips: ["10.9.0.7"] })],
            /^ips: 10\.9\.0\.7 has no prefix length, and no IPPool contains it; next: .* 10\.9\.0\.7\/24/,
        ],
        [
            "an address twice in the network",
            [
                network({
                    ipam: { type: "antrea", addresses: [{ address: "10.9.0.7/24" }, { address: "10.9.0.7/24" }] },
                }),
            ],
            /^ipam\.addresses: has 10\.9\.0\.7 twice; next: /,
        ],
    ])("because of an address names the field and the address: %s", (_, input, text) => {
        expect(refusal(...input)).toMatchObject({
            code: "INVALID_NETWORK_CONFIG",
            message: expect.stringMatching(text),
        });
    });
});

describe("the MTU of an interface", () => {
    it.each<[string, number | undefined, number, number]>([
        ["1500 without one in the network", undefined, 9000, 1500],
        ["that of the NICs where it is lower", undefined, 1400, 1400],
        ["1500 where the NICs have that", undefined, 1500, 1500],
        ["that of the network", 1300, 9000, 1300],
        ["that of the network, above 1500 too", 8000, 9000, 8000],
        ["that of the network, equal to that of the NICs", 9000, 9000, 9000],
    ])("is %s", (_, mtu, nicMtu, expected) => {
        expect(plan(network({ mtu }), selection(), { nicMtu }).mtu).toBe(expected);
    });
});

describe("the addresses of an interface", () => {
    const listed = {
        ipam: {
            type: "antrea",
            ippools: ["pool1"],
            addresses: [{ address: "10.9.0.5/24", gateway: "10.9.0.254" }, { address: "10.9.0.6/24" }],
        },
    };

    it("are those of the IPPools, then those that the network lists", () => {
        const planned = plan(network(listed));
        expect(demandsOf(planned)).toEqual(["pool1 undefined"]);
        expect(orderOf(planned)).toEqual(["0", "10.9.0.5/24 via 10.9.0.254", "10.9.0.6/24 via undefined"]);
    });

    it("are the requested ones instead of the listed ones, and one that is listed keeps its gateway", () => {
        const planned = plan(network(listed), selection({ ips: ["10.9.0.77/16", "10.9.0.5/24"] }));
        expect(demandsOf(planned)).toEqual(["pool1 undefined"]);
        expect(orderOf(planned)).toEqual(["0", "10.9.0.77/16 via undefined", "10.9.0.5/24 via 10.9.0.254"]);
    });

    it("are claimed where an IPPool contains them: of the network itself for the address that it would give", () => {
        const asked: (readonly string[])[] = [];
        const poolOf = (ip: IpAddress, named: readonly string[]): string | undefined => {
            asked.push([formatIp(ip), ...named]);
            return ip.family === 4 ? "pool1" : "pool6";
        };
        const planned = plan(network(pooled), selection({ ips: ["10.2.0.7", "fd02::7"] }), { poolOf });
        expect(demandsOf(planned)).toEqual(["pool1 10.2.0.7", "pool6 fd02::7"]);
        expect(orderOf(planned)).toEqual(["0", "1"]);
        // The pools of the network come first where ranges overlap.
        expect(asked).toEqual([
            ["10.2.0.7", "pool1"],
            ["fd02::7", "pool1"],
        ]);
    });

    it("are static ones of the network where no IPPool hands them out", () => {
        const asked: string[] = [];
        const poolOf: Surroundings["poolOf"] = (ip, _, match) => {
            asked.push(`${formatIp(ip)} ${match}`);
            return match === "range" ? "pool1" : undefined;
        };
        const addresses = [{ address: "10.2.0.1/24" }];
        const ours = network({ ipam: { type: "antrea", addresses } });
        expect(orderOf(plan(ours, selection(), { poolOf }))).toEqual(["10.2.0.1/24 via undefined"]);
        expect(demandsOf(plan(ours, selection({ ips: ["10.2.0.1"] }), { poolOf }))).toEqual(["pool1 10.2.0.1"]);
        expect(asked).toEqual(["10.2.0.1 usable", "10.2.0.1 range"]);
    });

    it("are static ones without the feature gate AntreaIPAM too", () => {
        const addresses = [{ address: "10.9.0.5/24", gateway: "10.9.0.254" }];
        const planned = plan(network({ ipam: { type: "antrea", addresses } }), selection(), { poolOf: undefined });
        expect([demandsOf(planned), orderOf(planned)]).toEqual([[], ["10.9.0.5/24 via 10.9.0.254"]]);
    });
});

describe("what else network and annotation have", () => {
    it("is passed on: interface, MAC address, gateways of the default route, routes and DNS", () => {
        const ipam = {
            ...pooled.ipam,
            routes: [{ dst: "10.20.0.0/16", gw: "10.2.0.3" }, { dst: "fd20::/64" }],
            dns: { nameservers: ["10.2.0.53"], search: ["example.com"] },
        };
        const requested = selection({
            interface: "data0",
            mac: "02:00:00:00:AB:01",
            "default-route": ["10.2.0.1", "fd02::1"],
        });
        expect(plan(network({ vlan: 100, ipam }), requested)).toMatchObject({
            ifName: "data0",
            network: "default/net1",
            vlan: 100,
            mac: "02:00:00:00:ab:01",
            routes: ipam.routes,
            dns: ipam.dns,
            defaultGateways: [parseIp("10.2.0.1"), parseIp("fd02::1")],
        });
    });

    it("is left to others where it is absent", () => {
        expect(plan(network())).toEqual({
            ifName: "eth1",
            network: "default/net1",
            vlan: undefined,
            mtu: 1500,
            mac: undefined,
            addresses: undefined,
            routes: [],
            dns: undefined,
            defaultGateways: [],
        });
    });
});
