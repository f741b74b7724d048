import { describe, expect, it } from "@jest/globals";
import { formatIp, parseIp, parsePrefix } from "@antrea/ip";
import { isPhysicalNameOf, nicNameOf, physicalNameOf } from "../../../../src/platform/host/uplink/names.ts";
import {
    addressText,
    aged,
    changed,
    renewed,
    routeText,
    sameSnapshot,
} from "../../../../src/platform/host/uplink/snapshot-changes.ts";
import {
    gatewaysOf,
    hasGlobalAddress,
    type MovedAddress,
    type MovedRoute,
    type Snapshot,
} from "../../../../src/platform/host/uplink/snapshot.ts";
import { address, route, snapshot } from "./support/entries.ts";

describe("a snapshot", () => {
    const lease: MovedAddress = { ...address, lifetime: { preferredSeconds: 50, validSeconds: 100 } };
    const learned: MovedRoute = { ...route, expiresSeconds: 60 };
    const leaseOf = (preferredSeconds: number, validSeconds: number): MovedAddress => ({
        ...address,
        lifetime: { preferredSeconds, validSeconds },
    });
    const leased = { ...snapshot, addresses: [lease], routes: [learned] };

    it.each([
        ["at once", 1000, { preferredSeconds: 50, validSeconds: 100 }, 60],
        ["after a while", 1030.9, { preferredSeconds: 20, validSeconds: 70 }, 30],
        ["with a minute at least", 1059.9, { preferredSeconds: 0, validSeconds: 60 }, 1],
        ["when the clock went back", 900, { preferredSeconds: 50, validSeconds: 100 }, 60],
    ])("ages: %s", (_, now, lifetime, expiresSeconds) => {
        expect(aged(leased, now)).toEqual({
            ...leased,
            takenAt: now,
            addresses: [{ ...lease, lifetime }],
            routes: [{ ...learned, expiresSeconds }],
        });
    });

    it("loses routes that expired, and gives addresses a minute in which their lease may be renewed", () => {
        const lifetime = { preferredSeconds: 60, validSeconds: 60 };
        expect(aged(leased, 1100)).toEqual({
            ...leased,
            takenAt: 1100,
            addresses: [{ ...lease, lifetime }],
            routes: [],
        });
        const forEver = aged(snapshot, 1e9);
        expect(forEver.addresses).toHaveLength(2);
        expect(forEver.addresses[1]?.lifetime).toEqual({ preferredSeconds: 0, validSeconds: Infinity });
        expect(forEver.routes).toHaveLength(1);
    });

    it.each<[string, Partial<Snapshot>, boolean]>([
        ["nothing", {}, true],
        [
            "time has passed",
            { takenAt: 1010, addresses: [leaseOf(40, 90)], routes: [{ ...learned, expiresSeconds: 50 }] },
            true,
        ],
        [
            "a lease was renewed",
            { takenAt: 1010, addresses: [leaseOf(50, 100)], routes: [{ ...learned, expiresSeconds: 50 }] },
            false,
        ],
        ["a route was renewed", { takenAt: 1010, addresses: [leaseOf(40, 90)] }, false],
        ["an address was added", { addresses: [lease, address] }, false],
        ["a route was removed", { routes: [] }, false],
        ["a neighbour was learned", { neighbours: [] }, true],
        ["another name was given", { altNames: ["lan"] }, false],
    ])("is the same to the journal: %s", (_, change, same) => {
        expect(sameSnapshot(leased, { ...leased, ...change })).toBe(same);
    });

    it("follows what changed between two later ones, and keeps what it alone has", () => {
        const other: MovedAddress = { ...address, ip: parseIp("10.0.0.3"), label: "eth0~" };
        const way: MovedRoute = { ...route, dst: parsePrefix("198.18.0.0/15") };
        // renamed: without the label, and the neighbours forgotten
        const renamed = {
            ...leased,
            takenAt: 1010,
            addresses: [{ ...leaseOf(40, 90), label: "eth0~" }],
            neighbours: [],
        };
        const now = { ...renamed, takenAt: 1020, addresses: [...renamed.addresses, other], routes: [way] };
        expect(changed(leased, renamed, renamed)).toEqual({
            ...leased,
            takenAt: 1010,
            addresses: [leaseOf(40, 90)],
            routes: [{ ...learned, expiresSeconds: 50 }],
        });
        const { label: _, ...unlabelled } = other;
        expect(changed(leased, renamed, now)).toEqual({
            ...leased,
            takenAt: 1020,
            addresses: [leaseOf(40, 90), unlabelled],
            routes: [way],
        });
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

    it.each([
        ["eth0", "eth0~", true],
        ["eth0", "eth0~2", true],
        ["eth0", "eth0", false],
        ["eth1", "eth0~", false],
        ["a-name-of-15-ch", "a-name-of-15-c~", true],
        ["a-name-of-15-ch", "a-name-of-15-ch~", false],
    ])("%s may be %s: %s", (name, physical, may) => expect(isPhysicalNameOf(name, physical)).toBe(may));

    it.each([
        ["eth0~", "eth0"],
        ["eth0~1", "eth0"],
        ["eth0", undefined],
        ["~", undefined],
        ["eth0~a", undefined],
    ])("%s was %s", (physical, name) => expect(nicNameOf(physical)).toBe(name));
});
