import { describe, expect, it } from "@jest/globals";
import { OpenFlowError } from "@antrea/openflow";
import { ChangeBundles } from "../../../src/features/services/change-bundles.ts";
import type { OwnerChange } from "../../../src/platform/ovs/flow-table/index.ts";

const { signal } = new AbortController();

function recording(refuse: (owner: string) => boolean = () => false) {
    const sent: (readonly string[])[] = [];
    const bundles = new ChangeBundles({
        flowTable: {
            apply: async (changes: readonly OwnerChange[]) => {
                const owners = changes.map(({ owner }) => owner);
                sent.push(owners);
                if (owners.some(refuse)) throw new OpenFlowError("REFUSED", "remote", "refused");
            },
        },
    });
    const apply = (owner: string, weight = 1): Promise<void> =>
        bundles.apply({ owner, flows: undefined }, weight, signal);
    return { sent, apply };
}

describe("bundles of changes", () => {
    it("have all changes of a turn, and no other", async () => {
        const { sent, apply } = recording();
        await Promise.all([apply("a"), apply("b")]);
        await apply("c");
        expect(sent).toEqual([["a", "b"], ["c"]]);
    });

    it("end at 1,000 flows, groups and buckets, unless one change has more", async () => {
        const { sent, apply } = recording();
        await Promise.all([apply("a", 600), apply("b", 400), apply("c", 1), apply("d", 5_000), apply("e", 1)]);
        expect(sent).toEqual([["a", "b"], ["c"], ["d"], ["e"]]);
    });

    it("that OVS refuses are sent again one by one, and only the bad one fails", async () => {
        const { sent, apply } = recording((owner) => owner === "bad");
        const results = await Promise.allSettled([apply("a"), apply("bad"), apply("b")]);
        expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
        expect(sent).toEqual([["a", "bad", "b"], ["a"], ["bad"], ["b"]]);
    });

    it("fail as a whole for another reason", async () => {
        const bundles = new ChangeBundles({ flowTable: { apply: () => Promise.reject(new TypeError("other")) } });
        const apply = (owner: string): Promise<void> => bundles.apply({ owner, flows: undefined }, 1, signal);
        const results = await Promise.allSettled([apply("a"), apply("b")]);
        expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    });
});
