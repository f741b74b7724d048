import { describe, expect, it } from "@jest/globals";
import { formatIp, parseIp, parsePrefix } from "@antrea/ip";
import { physicalNameOf } from "../../src/uplink/names.ts";
import {
    addressText,
    aged,
    gatewaysOf,
    hasGlobalAddress,
    renewed,
    routeText,
    type MovedAddress,
    type MovedRoute,
} from "../../src/uplink/snapshot.ts";
import { address, route, snapshot } from "./support/entries.ts";

describe("a snapshot", () => {
    const lease: MovedAddress = { ...address, lifetime: { preferredSeconds: 50, validSeconds: 100 } };
    const learned: MovedRoute = { ...route, expiresSeconds: 60 };
    const leased = { ...snapshot, addresses: [lease], routes: [learned] };

    it.each([
        ["at once", 1000, { preferredSeconds: 50, validSeconds: 100 }, 60],
        ["after a while", 1059.9, { preferredSeconds: 0, validSeconds: 41 }, 1],
        ["when the clock went back", 900, { preferredSeconds: 50, validSeconds: 100 }, 60],
    ])("ages: %s", (_, now, lifetime, expiresSeconds) => {
        expect(aged(leased, now)).toEqual({
            ...leased,
            takenAt: now,
            addresses: [{ ...lease, lifetime }],
            routes: [{ ...learned, expiresSeconds }],
        });
    });

    it("loses what expired, and nothing else", () => {
        expect(aged(leased, 1100)).toMatchObject({ addresses: [], routes: [] });
        const forEver = aged(snapshot, 1e9);
        expect(forEver.addresses).toHaveLength(2);
        expect(forEver.addresses[1]?.lifetime).toEqual({ preferredSeconds: 0, validSeconds: Infinity });
        expect(forEver.routes).toHaveLength(1);
    });

    it("takes a lease that was renewed, of the same address only", () => {
        const lifetime = { preferredSeconds: 500, validSeconds: 1000 };
        expect(renewed(leased, [{ ...lease, lifetime }]).addresses[0]?.lifetime).toEqual(lifetime);
        const other = { ...lease, ip: parseIp("10.0.0.3"), lifetime };
        expect(renewed(leased, [other]).addresses).toEqual([lease]);
        expect(renewed(snapshot, [{ ...address, lifetime }]).addresses[0]).toEqual(address);
    });

    it("knows the gateways of its default routes, each once", () => {
        const routes = [
            ...snapshot.routes,
            { ...route, metric: 200 },
            { ...route, dst: parsePrefix("10.9.0.0/16"), via: parseIp("10.0.0.9") },
        ];
        expect(gatewaysOf({ routes }).map(formatIp)).toEqual(["10.0.0.1", "fe80::1"]);
    });

    it("has a use for the Node only with an address that others reach", () => {
        expect(hasGlobalAddress([{ scope: 253 }])).toBe(false);
        expect(hasGlobalAddress([{ scope: 253 }, { scope: 0 }])).toBe(true);
    });
});

describe("what must be as it was", () => {
    it.each<[string, Partial<MovedAddress>, boolean]>([
        ["the time that is left", { lifetime: { preferredSeconds: 5, validSeconds: 5 } }, false],
        ["a flag of the kernel", { flags: 0x80 }, true],
        ["a flag of a program", { flags: 0x200 }, false],
        ["the label", { label: "eth0:a" }, false],
        ["the metric of its route", { metric: 5 }, false],
        ["the peer", { peer: parseIp("10.0.0.9") }, false],
        ["the broadcast address", { broadcast: parseIp("10.0.0.0") }, false],
        ["the maker", { protocol: 3 }, true],
    ])("an address, %s", (_, change, same) => {
        expect(addressText({ ...address, ...change }) === addressText(address)).toBe(same);
    });

    it("an address whose lease has less time left is the same", () => {
        const [long, short] = [100, 5].map((validSeconds) => ({ preferredSeconds: 0, validSeconds }));
        expect(addressText({ ...address, ...(long && { lifetime: long }) })).toBe(
            addressText({ ...address, ...(short && { lifetime: short }) }),
        );
    });

    it.each<[string, Partial<MovedRoute>]>([
        ["gateway", { via: parseIp("10.0.0.9") }],
        ["source", { src: parseIp("10.0.0.2") }],
        ["table", { table: 1000 }],
        ["metric", { metric: 5 }],
        ["metrics", { metrics: { 2: 1400 } }],
        ["type of service", { tos: 16 }],
        ["maker", { protocol: 4 }],
        ["preference", { preference: 3 }],
        ["onlink", { onlink: true }],
        ["realms", { realms: 1 }],
    ])("a route, its %s", (_, change) => {
        expect(routeText({ ...route, ...change })).not.toBe(routeText(route));
        expect(routeText({ ...route, ...change, expiresSeconds: 5 })).toBe(routeText({ ...route, ...change }));
    });
});

describe("the name of the NIC while it is a port", () => {
    it.each([
        ["eth0", [], "eth0~"],
        ["enp0s31f6", ["eth0~"], "enp0s31f6~"],
        ["eth0", ["eth0~"], "eth0~1"],
        ["eth0", ["eth0~", "eth0~1"], "eth0~2"],
        ["a-name-of-14-ch", [], "a-name-of-14-c~"],
        ["a-name-of-15-ch", ["a-name-of-15-c~"], "a-name-of-15-~1"],
        ["ääääääö", [], "ääääääö~"],
        ["äääääääx", [], "äääääää~"],
    ])("%s with %j taken is %s", (name, taken, expected) => {
        const physical = physicalNameOf(name, (one) => taken.includes(one));
        expect(physical).toBe(expected);
        expect(new TextEncoder().encode(physical).length).toBeLessThanOrEqual(15);
    });
});
