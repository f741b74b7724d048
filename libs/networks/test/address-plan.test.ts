import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { formatIp, parseIp, type IpAddress } from "@antrea/ip";
import {
    addressesOf,
    parseIpamSection,
    planAddresses,
    type AddressPlan,
    type PoolMatch,
    type WantedAddress,
    type WantedAddresses,
} from "../src/index.ts";

/** Addresses of IPPools: "four" has 10.2.0.x, "next" 10.3.0.x; 10.2.0.1 is a gateway. */
const poolOf = (ip: IpAddress, match: PoolMatch): string | undefined => {
    const text = formatIp(ip);
    if (match === "usable" && text === "10.2.0.1") return undefined;
    return text.startsWith("10.2.0.") ? "four" : text.startsWith("10.3.0.") ? "next" : undefined;
};

function wanted(text: string): WantedAddress {
    const [address = "", gateway] = text.split(" via ");
    const [ip = "", length] = address.split("/");
    return {
        ip: parseIp(ip),
        prefixLength: length === undefined ? undefined : Number(length),
        gateway: gateway === undefined ? undefined : parseIp(gateway),
    };
}

function plan(ippools: readonly string[], ...addresses: readonly string[]): AddressPlan {
    return planFrom("ipam.addresses", ippools, ...addresses);
}

function planFrom(
    source: WantedAddresses["source"],
    ippools: readonly string[],
    ...addresses: readonly string[]
): AddressPlan {
    const section = parseIpamSection({ type: "antrea", ippools });
    return planAddresses(section, { addresses: addresses.map(wanted), source }, poolOf);
}

const demands = ({ demands: all }: AddressPlan): readonly string[] =>
    all.map(({ pool, fixed }) => (fixed === undefined ? pool : `${pool} ${formatIp(fixed)}`));

/** The result where each demand without a fixed address gets number 99 of its pool, with prefix length 16. */
function result(made: AddressPlan): readonly string[] {
    const claimed = made.demands.map(({ pool, fixed }) => {
        const subnet = pool === "four" ? "10.2.0" : "10.3.0";
        return { ip: fixed ?? parseIp(`${subnet}.99`), prefixLength: 16, gateway: parseIp(`${subnet}.1`) };
    });
    return addressesOf(made, claimed).map(
        ({ ip, prefixLength, gateway }) =>
            `${formatIp(ip)}/${prefixLength}${gateway === undefined ? "" : ` via ${formatIp(gateway)}`}`,
    );
}

describe("planAddresses", () => {
    it("has one address of each pool, in order, then the static ones, which are not claimed", () => {
        const made = plan(["next", "four"], "192.0.2.9/24 via 192.0.2.1", "fd00::9/64");
        expect(demands(made)).toEqual(["next", "four"]);
        expect(result(made)).toEqual([
            "10.3.0.99/16 via 10.3.0.1",
            "10.2.0.99/16 via 10.2.0.1",
            "192.0.2.9/24 via 192.0.2.1",
            "fd00::9/64",
        ]);
    });

    it("has static ones alone", () => {
        const made = plan([], "192.0.2.9/24");
        expect([demands(made), result(made)]).toEqual([[], ["192.0.2.9/24"]]);
    });

    it("gives an address that a listed pool has as the one of that pool, by the pool's settings", () => {
        const made = plan(["next", "four"], "10.2.0.7", "192.0.2.9/24");
        expect(demands(made)).toEqual(["next", "four 10.2.0.7"]);
        expect(result(made)).toEqual(["10.3.0.99/16 via 10.3.0.1", "10.2.0.7/16 via 10.2.0.1", "192.0.2.9/24"]);
        expect(result(plan(["four"], "10.2.0.7/30 via 10.2.0.5"))).toEqual(["10.2.0.7/16 via 10.2.0.1"]);
    });

    it("claims a further one of a listed pool, and one of another pool, and keeps the settings that they have", () => {
        const made = plan(["four"], "10.2.0.7", "10.2.0.8", "10.3.0.5/30 via 10.3.0.6", "10.3.0.9/24");
        expect(demands(made)).toEqual(["four 10.2.0.7", "four 10.2.0.8", "next 10.3.0.5", "next 10.3.0.9"]);
        expect(result(made)).toEqual([
            "10.2.0.7/16 via 10.2.0.1",
            "10.2.0.8/16 via 10.2.0.1",
            "10.3.0.5/30 via 10.3.0.6",
            "10.3.0.9/24",
        ]);
    });

    it("has one of the network that no IPPool hands out as a static one, but claims one that is requested, to be refused", () => {
        const made = plan(["four"], "10.2.0.1/24", "10.2.0.7/24");
        expect(demands(made)).toEqual(["four 10.2.0.7"]);
        expect(result(made)).toEqual(["10.2.0.7/16 via 10.2.0.1", "10.2.0.1/24"]);
        for (const source of ["ips", "runtimeConfig.ips", "args.cni.ips", "CNI_ARGS"] as const)
            expect(demands(planFrom(source, ["four"], "10.2.0.1"))).toEqual(["four 10.2.0.1"]);
    });

    it("judges each address by its own origin: one of the network beside requested ones is as without these", () => {
        const listed = { ...wanted("10.2.0.1/24"), source: "ipam.addresses" as const };
        const section = parseIpamSection({ type: "antrea", ippools: ["four"] });
        const both = (own: WantedAddress, ...requested: readonly string[]): AddressPlan =>
            planAddresses(section, { addresses: [own, ...requested.map(wanted)], source: "CNI_ARGS" }, poolOf);
        const made = both(listed, "10.2.0.7");
        expect(demands(made)).toEqual(["four 10.2.0.7"]);
        expect(result(made)).toEqual(["10.2.0.7/16 via 10.2.0.1", "10.2.0.1/24"]);
        expect(() => both({ ...listed, prefixLength: undefined }, "10.2.0.7")).toThrow(
            /^ipam\.addresses: 10\.2\.0\.1 has no prefix length, and no IPPool hands it out; next: /,
        );
        expect(() => both(listed, "192.0.2.9")).toThrow(/^CNI_ARGS: 192\.0\.2\.9 has no prefix length, /);
    });

    it.each<[string, () => unknown, string]>([
        ["nothing", () => plan([]), "ipam: has neither IPPools nor addresses; next: name an IPPool in ipam.ippools"],
        [
            "an address twice",
            () => plan(["four"], "10.2.0.7", "10.2.0.7/24"),
            "ipam.addresses: has 10.2.0.7 twice; next: remove one of them",
        ],
        [
            "a static one without prefix length",
            () => plan(["four"], "192.0.2.9"),
            "ipam.addresses: 192.0.2.9 has no prefix length, and no IPPool hands it out; next: write it with its prefix length, as 192.0.2.9/24",
        ],
        [
            "a gateway without prefix length",
            () => plan(["four"], "10.2.0.1"),
            "ipam.addresses: 10.2.0.1 has no prefix length, and no IPPool hands it out; next: ",
        ],
        [
            "a requested one without prefix length",
            () => planFrom("ips", ["four"], "192.0.2.9"),
            "ips: 192.0.2.9 has no prefix length, and no IPPool contains it; next: ",
        ],
        ["a static IPv6 one without", () => plan([], "fd00::9"), "as fd00::9/64"],
    ])("refuses %s", (_, work, message) => {
        expect(work).toThrow(message);
    });

    it("never demands two of a pool without naming which, and answers each address once", () => {
        const address = fc.constantFrom("10.2.0.7", "10.2.0.8", "10.3.0.5", "192.0.2.9/24", "192.0.2.8/24");
        const pools = fc.uniqueArray(fc.constantFrom("four", "next", "empty"), { minLength: 1 });
        fc.assert(
            fc.property(pools, fc.uniqueArray(address), (ippools, addresses) => {
                const made = plan(ippools, ...addresses);
                for (const [pool, all] of Map.groupBy(made.demands, (demand) => demand.pool)) {
                    if (all.length > 1)
                        expect([pool, all.every(({ fixed }) => fixed !== undefined)]).toEqual([pool, true]);
                }
                const used = made.order.filter((one) => typeof one === "number");
                expect(new Set(used).size).toBe(made.demands.length);
                expect(made.order.length).toBeGreaterThanOrEqual(Math.max(ippools.length, addresses.length));
            }),
        );
    });
});
