import { describe, expect, it } from "@jest/globals";
import { formatIp, formatPrefix, parsePrefix, prefixAt } from "@antrea/ip";
import { type Node, type Service } from "@antrea/kube";
import {
    healthPort,
    ingressOf,
    isBalanced,
    nextAddress,
    nextHops,
    nodeAddresses,
    poolOf,
} from "../load-balancer/rules.ts";

type Spec = NonNullable<Service["spec"]>;

function service(spec: Spec, metadata: NonNullable<Service["metadata"]> = {}): Service {
    return { metadata, spec: { type: "LoadBalancer", ipFamilies: ["IPv4"], ...spec } };
}

describe("isBalanced", () => {
    it("takes Services of type LoadBalancer", () => {
        expect(isBalanced(service({}))).toBe(true);
    });

    it.each<[string, Service]>([
        ["of another type", service({ type: "NodePort" })],
        ["of another load balancer", service({ loadBalancerClass: "example.com/other" })],
        ["that is going", service({}, { deletionTimestamp: "2026-11-27T17:00:00Z" })],
        ["of IPv6 first", service({ ipFamilies: ["IPv6", "IPv4"] })],
        ["without a spec", {}],
    ])("leaves one %s", (_, other) => {
        expect(isBalanced(other)).toBe(false);
    });
});

describe("nextAddress", () => {
    const pool = parsePrefix("172.18.255.0/24");
    const all = Array.from({ length: 254 }, (_, index) => formatIp(prefixAt(pool, BigInt(index + 1))));

    it("is of the high end of the network", () => {
        expect(formatPrefix(poolOf(parsePrefix("172.18.0.0/16")))).toBe("172.18.255.0/24");
        expect(formatPrefix(poolOf(parsePrefix("192.168.16.0/20")))).toBe("192.168.31.0/24");
    });

    it("is of no network that has no high end", () => {
        expect(formatPrefix(poolOf(parsePrefix("10.1.2.0/23")))).toBe("10.1.3.0/24");
        expect(() => poolOf(parsePrefix("10.1.2.0/24"))).toThrow("10.1.2.0/24, without room");
    });

    it("begins below the broadcast address and goes down", () => {
        expect(nextAddress(pool, new Set(), undefined)).toBe("172.18.255.254");
        expect(nextAddress(pool, new Set(), "172.18.255.254")).toBe("172.18.255.253");
    });

    it("passes over those in use, and does not come back at once to one that was freed", () => {
        expect(nextAddress(pool, new Set(["172.18.255.252", "172.18.255.251"]), "172.18.255.253")).toBe(
            "172.18.255.250",
        );
    });

    it("begins anew above the network's address", () => {
        expect(nextAddress(pool, new Set(), "172.18.255.1")).toBe("172.18.255.254");
    });

    it("finds the only free one from anywhere, and none when all are in use", () => {
        const used = new Set(all.filter((address) => address !== "172.18.255.17"));
        for (const last of [undefined, ...all]) expect(nextAddress(pool, used, last)).toBe("172.18.255.17");
        expect(nextAddress(pool, new Set(all), "172.18.255.9")).toBeUndefined();
    });

    it("knows the addresses in use from the status", () => {
        const ingress = [{ ip: "172.18.255.254" }, { hostname: "lb.example.com" }];
        expect(ingressOf({ status: { loadBalancer: { ingress } } })).toEqual(["172.18.255.254"]);
        expect(ingressOf({})).toEqual([]);
    });
});

describe("nodeAddresses", () => {
    const node = (name: string, ...addresses: readonly (readonly [string, string])[]): Node => ({
        metadata: { name },
        status: { addresses: addresses.map(([type, address]) => ({ type, address })) },
    });

    it("has the first internal IPv4 address of each, in the order of names", () => {
        const b = node("b", ["Hostname", "b"], ["InternalIP", "fc00::2"], ["InternalIP", "172.18.0.2"]);
        const a = node("a", ["ExternalIP", "192.0.2.1"], ["InternalIP", "172.18.0.3"], ["InternalIP", "172.18.0.9"]);
        expect(nodeAddresses([b, a, node("c")])).toEqual(["172.18.0.3", "172.18.0.2"]);
    });
});

describe("healthPort", () => {
    it.each<[string, Spec, number]>([
        ["its own with policy Local", { externalTrafficPolicy: "Local", healthCheckNodePort: 31000 }, 31000],
        ["that of the proxy with policy Cluster", { externalTrafficPolicy: "Cluster" }, 10256],
        ["that of the proxy while a change of the policy is under way", { externalTrafficPolicy: "Local" }, 10256],
    ])("is %s", (_, spec, port) => {
        expect(healthPort(service(spec))).toBe(port);
    });
});

describe("nextHops", () => {
    const cluster = service({ externalTrafficPolicy: "Cluster" });
    const local = service({ externalTrafficPolicy: "Local" });
    const sticky = service({ externalTrafficPolicy: "Local", sessionAffinity: "ClientIP" });

    it.each<[string, Service, readonly string[], readonly string[], readonly string[]]>([
        ["all healthy ones with policy Local", local, ["a", "c"], ["a", "b"], ["a", "c"]],
        ["none when none is healthy", local, [], ["a"], []],
        ["one with policy Cluster", cluster, ["a", "b", "c"], [], ["b"]],
        ["the same one while it is healthy", cluster, ["a", "b", "c"], ["c"], ["c"]],
        ["another one when it is not", cluster, ["a", "b"], ["c"], ["b"]],
        ["none with policy Cluster either", cluster, [], ["c"], []],
        ["one with affinity", sticky, ["a", "b"], ["a"], ["a"]],
        ["one of those before, when affinity begins", sticky, ["a", "b", "c"], ["b", "c"], ["b"]],
    ])("are %s", (_, of, healthy, current, expected) => {
        expect(nextHops(of, healthy, current, 7)).toEqual(expected);
    });
});
