import { describe, expect, it } from "@jest/globals";
import { formatPrefix, parsePrefix } from "@antrea/ip";
import { guardedPrefixes } from "../src/pool-wiring.ts";
import { addressOf, podRecord } from "./support/records.ts";

describe("where claims of others concern a Node", () => {
    const podPrefixes = [parsePrefix("10.10.1.0/24"), parsePrefix("fd10:10:0:1::/64")];

    function guarded(...pods: readonly { readonly addresses: readonly string[]; readonly pool?: string }[]): string[] {
        const known = pods.map(({ addresses, pool }) => ({
            record: podRecord({
                addresses: addresses.map((text) => ({ ...addressOf(text), ...(pool !== undefined && { pool }) })),
            }),
            ...{ ofPort: 32784, addedAt: 0 },
        }));
        return guardedPrefixes(podPrefixes, { interfaces: () => known }).map(formatPrefix);
    }

    it("is its podCIDRs", () => {
        expect(guarded({ addresses: ["10.10.1.5/24", "fd10:10:0:1::5/64"] })).toEqual([
            "10.10.1.0/24",
            "fd10:10:0:1::/64",
        ]);
    });

    it("and each address that a Pod has kept of an earlier podCIDR, but none of a pool", () => {
        const earlier = { addresses: ["10.10.7.5/24", "fd10:10:0:7::5/64"] };
        expect(guarded(earlier, { addresses: ["10.2.0.12/24"], pool: "pool1" })).toEqual([
            "10.10.1.0/24",
            "fd10:10:0:1::/64",
            "10.10.7.5/32",
            "fd10:10:0:7::5/128",
        ]);
    });
});
