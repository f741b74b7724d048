import { describe, expect, it } from "@jest/globals";
import { OpenFlowError, type Action, type Group, type GroupBucket, type GroupMod } from "../../src/codec/index.ts";
import { checkGroupMod } from "../../src/codec/check-group.ts";

// check-group.integration.ts shows that ovs-vswitchd rejects exactly these, with random changes.

function verdict(mod: GroupMod): string {
    try {
        checkGroupMod(mod);
        return "fits";
    } catch (error) {
        if (error instanceof OpenFlowError && error.fault === "caller") return `${error.code}: ${error.message}`;
        throw error;
    }
}

const maxId = 0xffffff00;
const bucket = (part: Partial<GroupBucket> = {}): GroupBucket => ({ id: 1, actions: [], ...part });
const add = (type: Group["type"], ...buckets: readonly GroupBucket[]): GroupMod => ({
    command: "add",
    group: { id: 7, type, buckets },
});

describe("changes of groups", () => {
    it.each<[string, GroupMod, string]>([
        ["indirect without a bucket", add("indirect"), "it has 0 buckets, a group of type indirect has exactly one"],
        [
            "indirect with two",
            add("indirect", bucket(), bucket({ id: 2 })),
            "it has 2 buckets, a group of type indirect has exactly one",
        ],
        ["one bucket twice", add("select", bucket(), bucket({ id: 2 }), bucket()), "bucket 1 is given twice"],
        [
            "a bucket of an id that is reserved",
            add("select", bucket({ id: maxId + 1 })),
            "ids of buckets are 0 to 4294967040, got 4294967041",
        ],
        [
            "a place that is reserved",
            { command: "insert_bucket", group: { id: 7, type: "all", buckets: [] }, place: maxId + 1 },
            "ids of buckets are 0 to 4294967040, got 4294967041",
        ],
        [
            "the removal of a bucket of such an id",
            { command: "remove_bucket", group: { id: 7 }, bucket: maxId + 1 },
            "ids of buckets are 0 to 4294967040, got 4294967041",
        ],
        [
            "a weight where nothing is selected",
            add("fast_failover", bucket({ watchPort: 1, weight: 2 })),
            "bucket 1 has a weight, which only groups of type select have",
        ],
        [
            "fast_failover that watches nothing",
            add("fast_failover", bucket({ watchPort: 0xffffffff, watchGroup: 0xffffffff })),
            "bucket 1 needs watchPort or watchGroup",
        ],
        [
            "all that watches a port",
            add("all", bucket({ watchPort: 1 })),
            "bucket 1 watches a port or group, which a group of type all cannot",
        ],
        [
            "indirect that watches a group",
            add("indirect", bucket({ watchGroup: 1 })),
            "bucket 1 watches a port or group, which a group of type indirect cannot",
        ],
        [
            "a port that cannot exist",
            add("select", bucket({ watchPort: 0xff00 })),
            "bucket 1: port 65280 cannot exist, at most 65279",
        ],
        [
            "a selection where nothing is selected",
            { command: "modify", group: { id: 7, type: "all", buckets: [], selection: { method: "dp_hash" } } },
            "a group of type all selects nothing, so it takes no selection",
        ],
    ])("%s: refused", (_, mod, rule) => {
        expect(verdict(mod)).toBe(`BAD_VALUE: group 7: ${rule}`);
    });

    it.each<[string, Action, RegExp]>([
        ["a field that can only be read", { type: "set_field", field: "eth_type", value: 1 }, /set_field eth_type/],
        [
            "ct with another field",
            { type: "ct", zone: 1, commit: true, exec: [{ type: "set_field", field: "reg0", value: 1 }] },
            /^BAD_VALUE: ct exec: set_field reg0 is not allowed/,
        ],
        [
            "a copy in which such a field is written",
            { type: "clone", actions: [{ type: "set_field", field: "eth_type", value: 1 }] },
            /^BAD_FIELD: set_field eth_type/,
        ],
        [
            "a copy with conjunction beside another action",
            { type: "clone", actions: [{ type: "conjunction", id: 1, clause: 1, clauses: 2 }, { type: "dec_ttl" }] },
            /^BAD_VALUE: conjunction stands with other actions/,
        ],
    ])("actions that no bucket may have: %s", (_, action, words) => {
        expect(verdict(add("select", bucket({ actions: [action] })))).toMatch(words);
    });

    it("conjunction beside another action: refused", () => {
        const actions: readonly Action[] = [{ type: "conjunction", id: 1, clause: 1, clauses: 2 }, { type: "dec_ttl" }];
        expect(verdict(add("select", bucket({ actions })))).toMatch(/conjunction stands with other actions/);
    });

    it.each<[string, GroupMod]>([
        ["indirect with one bucket", add("indirect", bucket({ weight: 0 }))],
        ["the highest ids", { command: "remove_bucket", group: { id: maxId }, bucket: maxId }],
        ["a bucket of the highest id", add("select", bucket({ id: maxId }))],
        [
            "a port that does not exist yet, and LOCAL",
            add("select", bucket({ watchPort: 0xfeff }), bucket({ id: 2, watchPort: 0xfffffffe })),
        ],
        ["the first of the reserved ports", add("select", bucket({ watchPort: 0xffffff00 }))],
        ["fast_failover that watches a group", add("fast_failover", bucket({ watchGroup: 3 }))],
        ["all that watches none", add("all", bucket({ watchPort: 0xffffffff, watchGroup: 0xffffffff }))],
        [
            "a weight of buckets to insert",
            {
                command: "insert_bucket",
                group: { id: 7, type: "all", buckets: [bucket({ weight: 3 })] },
                place: "first",
            },
        ],
        [
            "a selection",
            { command: "add", group: { id: 7, type: "select", buckets: [], selection: { method: "hash" } } },
        ],
        ["the removal of all buckets", { command: "remove_bucket", group: { id: 7 }, bucket: "all" }],
        ["the deletion of all groups", { command: "delete", group: { id: "all" } }],
        [
            "ct with a mark, and fields that a match would have to have",
            add(
                "select",
                bucket({
                    actions: [
                        {
                            type: "ct",
                            zone: 1,
                            commit: true,
                            exec: [{ type: "set_field", field: "ct_mark", value: 1 }],
                        },
                        { type: "set_field", field: "tcp_dst", value: 1 },
                    ],
                }),
            ),
        ],
    ])("%s: allowed", (_, mod) => {
        expect(verdict(mod)).toBe("fits");
    });
});
