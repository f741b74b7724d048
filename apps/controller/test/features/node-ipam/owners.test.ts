import { describe, expect, it } from "@jest/globals";
import { parsePrefix } from "@antrea/ip";
import { Owners } from "../../../src/features/node-ipam/owners.ts";

describe("Owners", () => {
    it.each([
        ["the same prefix", "10.0.1.0/24", "10.0.1.0/24", true],
        ["a wider one", "10.0.0.0/16", "10.0.1.0/24", true],
        ["a narrower one", "10.0.1.128/25", "10.0.1.0/24", true],
        ["a neighbour", "10.0.2.0/24", "10.0.1.0/24", false],
        ["a neighbour of another length", "10.0.0.0/25", "10.0.1.0/24", false],
        ["everything of the other family", "::/0", "10.0.1.0/24", false],
        ["the same IPv6 prefix", "fd00:1::/64", "fd00:1::/64", true],
    ])("%s", (_name, theirs, mine, overlaps) => {
        const owners = new Owners();
        owners.add("me", parsePrefix(mine));
        owners.add("them", parsePrefix(theirs));
        expect([...owners.overlapping("me", parsePrefix(mine))]).toEqual(overlaps ? ["them"] : []);
        expect([...owners.overlapping("them", parsePrefix(theirs))]).toEqual(overlaps ? ["me"] : []);
        owners.remove("them", parsePrefix(theirs));
        owners.remove("them", parsePrefix(theirs));
        expect([...owners.overlapping("me", parsePrefix(mine))]).toEqual([]);
    });
});
