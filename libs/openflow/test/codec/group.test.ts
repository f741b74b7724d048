import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import {
    bucketKey,
    decodeMessage,
    groupBodyKey,
    Writer,
    type CtFlush,
    type Group,
    type GroupBucket,
    type GroupMod,
    type Message,
    type MeterMod,
} from "../../src/codec/index.ts";
import { writeBundleAdd } from "../../src/codec/message/bundle.ts";
import { writeCtFlush } from "../../src/codec/message/ct-flush.ts";
import { writeGroupMod } from "../../src/codec/message/group-mod.ts";
import { writeMeterMod } from "../../src/codec/message/meter-mod.ts";
import {
    writeGroupDescRequest,
    writeGroupStatsRequest,
    writeMeterConfigRequest,
} from "../../src/codec/message/multipart-request.ts";
import { splitGroupMod } from "../../src/codec/message/split-group.ts";
import { bytes, groupMessages, groupMods, hex } from "../fixtures.ts";

function encoded(write: (writer: Writer) => void): string {
    const writer = new Writer();
    write(writer);
    return hex(writer.finish());
}

function sent(name: string): string {
    return groupMessages.find((message) => message.name === name && message.from === "ofctl")?.hex ?? "";
}

function received(name: string): Message {
    const found = groupMessages.find((message) => message.name === name && message.from === "switch");
    return decodeMessage(bytes(found?.hex ?? ""));
}

function decoded(line: string): GroupMod {
    const message = decodeMessage(bytes(groupMods.find(({ group }) => group.startsWith(line))?.hex ?? ""));
    if (message.type !== "group_mod") throw new Error(`a ${message.type}`);
    return message.mod;
}

describe("group mod", () => {
    it.each(groupMods.map(({ group, hex }) => [group, hex]))(
        "%s: decodes and encodes to the bytes of ovs-ofctl",
        (_, text) => {
            const message = decodeMessage(bytes(text));
            if (message.type !== "group_mod") throw new Error(`a ${message.type}`);
            expect(encoded((writer) => writeGroupMod(writer, message.xid, message.mod))).toBe(text);
        },
    );

    it("decodes to what the text describes", () => {
        expect(decoded("add group_id=1,")).toEqual({
            command: "add",
            group: {
                id: 1,
                type: "select",
                selection: { method: "dp_hash" },
                buckets: [
                    expect.objectContaining({ id: 1, weight: 12, actions: [expect.objectContaining({ type: "ct" })] }),
                    expect.objectContaining({ id: 2, weight: 12 }),
                    { id: 0, watchPort: 65000, actions: [] },
                ],
            },
        });
        expect(decoded("add group_id=1048577")).toMatchObject({
            group: {
                selection: { method: "hash", param: 0x123456789abcdef0n, fields: [{ field: "ipv4_src" }] },
                buckets: [{ id: 7 }, { id: 0xffffff00, weight: 2, watchGroup: 9 }],
            },
        });
        expect(decoded("add group_id=2,")).toMatchObject({
            group: {
                selection: {
                    fields: [
                        { field: "eth_dst" },
                        { field: "ipv6_src", mask: 0xffffffffffffffffn << 64n },
                        { field: "tcp_dst", mask: 0xff00 },
                    ],
                },
            },
        });
        expect(decoded("delete group_id=all")).toEqual({ command: "delete", group: { id: "all" } });
        expect(decoded("insert_bucket group_id=1,command_bucket_id=8")).toMatchObject({ place: 8 });
        expect(decoded("remove_bucket group_id=1,command_bucket_id=last")).toEqual({
            command: "remove_bucket",
            group: { id: 1 },
            bucket: "last",
        });
    });

    it("the order in which the fields of a selection are given does not matter", () => {
        const mod = decoded("add group_id=2,");
        if (mod.command !== "add" || mod.group.selection?.method !== "hash") throw new Error(mod.command);
        const fields = [...(mod.group.selection.fields ?? [])].reverse();
        const other: GroupMod = { ...mod, group: { ...mod.group, selection: { method: "hash", fields } } };
        expect(encoded((writer) => writeGroupMod(writer, 6, other))).toBe(
            encoded((writer) => writeGroupMod(writer, 6, mod)),
        );
    });

    it("a bundle has it as ovs-ofctl does", () => {
        const [, add] = groupMessages.filter(({ name, from }) => name === "bundle" && from === "ofctl");
        const group: Group = {
            id: 77,
            type: "select",
            buckets: [{ id: 1, weight: 5, actions: [{ type: "output", port: 1 }] }],
        };
        expect(
            encoded((writer) => writeBundleAdd(writer, 6, { bundleId: 0, flags: 3 }, { command: "add", group })),
        ).toBe(add?.hex);
    });

    it.each<[string, Partial<Group>, RegExp]>([
        ["a weight", { buckets: [{ id: 1, weight: 65536, actions: [] }] }, /bucket.weight: 65536/],
        ["an id", { id: -1 }, /group.id: -1/],
        ["a param", { selection: { method: "dp_hash", param: 1n << 64n } }, /selection.param/],
        [
            "no bits of a field",
            { selection: { method: "hash", fields: [{ field: "reg0", mask: 0 }] } },
            /mask of reg0 is 0/,
        ],
        [
            "a field twice",
            { selection: { method: "hash", fields: [{ field: "reg0" }, { field: "reg0", mask: 1 }] } },
            /reg0 is given a second time/,
        ],
        [
            "part of a field without parts",
            { selection: { method: "hash", fields: [{ field: "eth_type", mask: 1 }] } },
            /takes no mask/,
        ],
    ])("what cannot be written is refused with its name: %s", (_, part, message) => {
        const group: Group = { id: 1, type: "select", buckets: [], ...part };
        expect(() => writeGroupMod(new Writer(), 1, { command: "add", group })).toThrow(
            expect.objectContaining({ fault: "caller", message: expect.stringMatching(message) }),
        );
    });
});

describe("groups that are larger than a message", () => {
    const buckets = (count: number, note = 0): readonly GroupBucket[] =>
        Array.from({ length: count }, (_, index) => ({
            id: index,
            actions: [
                {
                    type: "ct",
                    commit: true,
                    zone: 1,
                    nat: { kind: "dst", min: { family: 4, value: BigInt(index + 1) } },
                },
                ...(note === 0 ? [] : [{ type: "note", data: new Uint8Array(note) } as const]),
            ],
        }));
    const add = (count: number): GroupMod => ({
        command: "add",
        group: { id: 5, type: "select", buckets: buckets(count) },
    });

    /** The buckets of a group after the changes, as a switch applies them. */
    function applied(mods: readonly GroupMod[], before: readonly number[] = []): readonly number[] {
        const ids = [...before];
        for (const mod of mods) {
            if (!("buckets" in mod.group)) throw new Error(mod.command);
            const more = mod.group.buckets.map(({ id }) => id);
            if (mod.command !== "insert_bucket") ids.splice(0, Infinity, ...more);
            else if (mod.place === "first") ids.unshift(...more);
            else if (mod.place === "last") ids.push(...more);
            else ids.splice(ids.indexOf(mod.place) + 1, 0, ...more);
        }
        return ids;
    }

    it("one that fits stays as it is", () => {
        for (const mod of [add(0), add(10), { command: "delete", group: { id: 5 } } as const]) {
            expect(splitGroupMod(mod, 2000)).toEqual([mod]);
        }
    });

    it("fill each message to its last byte", () => {
        // 24 bytes of the message, 64 of each bucket.
        const sizes = (limit: number): readonly number[] =>
            splitGroupMod(add(5), limit).map((mod) => ("buckets" in mod.group ? mod.group.buckets.length : -1));
        expect(sizes(24 + 5 * 64)).toEqual([5]);
        expect(sizes(24 + 5 * 64 - 1)).toEqual([4, 1]);
        expect(sizes(24 + 2 * 64)).toEqual([2, 2, 1]);
        expect(sizes(24 + 64)).toEqual([1, 1, 1, 1, 1]);
        expect(() => splitGroupMod(add(5), 24 + 63)).toThrow(
            expect.objectContaining({
                code: "TOO_BIG",
                message: "group 5: bucket 0 has 64 bytes, at most 63 fit",
            }),
        );
    });

    it("continue at the place of the change", () => {
        const at = (place: number | "first" | "last"): readonly unknown[] =>
            splitGroupMod(
                { command: "insert_bucket", group: { id: 5, type: "select", buckets: buckets(3) }, place },
                24 + 64,
            ).map((mod) => ("place" in mod ? mod.place : undefined));
        expect(at("last")).toEqual(["last", "last", "last"]);
        expect(at("first")).toEqual(["first", 0, 1]);
        expect(at(900)).toEqual([900, 0, 1]);
        expect(splitGroupMod(add(3), 24 + 64)[1]).toEqual({
            command: "insert_bucket",
            group: { id: 5, type: "select", buckets: buckets(3).slice(1, 2) },
            place: "last",
        });
    });

    it("have the same buckets in the same order, in messages that fit, whatever the size", () => {
        const place = fc.constantFrom<(number | "first" | "last")[]>("first", "last", 901);
        fc.assert(
            fc.property(fc.nat(60), fc.integer({ min: 120, max: 900 }), fc.option(place), (count, limit, at) => {
                const { group } = add(count) as Extract<GroupMod, { command: "add" }>;
                const mod: GroupMod =
                    at === null ? { command: "modify", group } : { command: "insert_bucket", group, place: at };
                const parts = splitGroupMod(mod, limit);
                expect(applied(parts, [900, 901, 902])).toEqual(applied([mod], [900, 901, 902]));
                for (const part of parts)
                    expect(encoded((writer) => writeGroupMod(writer, 1, part)).length / 2).toBeLessThanOrEqual(limit);
                // As few as can be: each but the last has no room for the next bucket.
                const room = Math.floor((limit - 24) / 64);
                expect(parts.length).toBe(Math.max(1, Math.ceil(count / room)));
            }),
        );
    });

    it("go into a bundle as several messages of one xid, the first with the selection", () => {
        const selection = { method: "hash", fields: [{ field: "ipv4_src" }] } as const;
        const group: Group = { id: 5, type: "select", selection, buckets: buckets(2100) };
        const writer = new Writer();
        writeBundleAdd(writer, 9, { bundleId: 1, flags: 3 }, { command: "add_or_modify", group });
        const all = writer.finish();
        const mods: GroupMod[] = [];
        for (let at = 0; at < all.length;) {
            const length = ((all[at + 2] ?? 0) << 8) | (all[at + 3] ?? 0);
            const message = decodeMessage(all.subarray(at, at + length));
            expect(message).toMatchObject({ xid: 9, type: "bundle_add", message: { xid: 9, type: "group_mod" } });
            if (message.type === "bundle_add" && message.message.type === "group_mod") mods.push(message.message.mod);
            at += length;
        }
        expect(mods.map(({ command }) => command)).toEqual(["add_or_modify", "insert_bucket", "insert_bucket"]);
        expect(mods[0]).toMatchObject({ group: { selection } });
        expect(applied(mods)).toEqual(buckets(2100).map(({ id }) => id));
    });

    it("a bucket that alone is larger is refused with its id", () => {
        const group: Group = { id: 5, type: "select", buckets: buckets(2, 65_500) };
        expect(() => writeBundleAdd(new Writer(), 9, { bundleId: 1, flags: 3 }, { command: "add", group })).toThrow(
            expect.objectContaining({ code: "TOO_BIG", message: expect.stringMatching(/bucket 0 has 65\d+ bytes/) }),
        );
    });
});

describe("what the switch reports of groups and meters", () => {
    it("groups", () => {
        const message = received("groups");
        const reply = message.type === "multipart_reply" && message.reply.kind === "groups" ? message.reply.groups : [];
        expect(Object.fromEntries(reply.map(({ id, type }) => [id, type]))).toEqual({
            1: "select",
            2: "all",
            3: "all",
            5: "all",
            6: "indirect",
            9: "all",
            1048577: "select",
            4294967040: "fast_failover",
        });
        // Equal to what was asked for, so that both can be compared.
        expect(reply.find(({ id }) => id === 1)).toEqual(decoded("add group_id=1,").group);
        expect(reply.find(({ id }) => id === 1048577)).toEqual(decoded("add group_id=1048577").group);
        expect(reply.find(({ id }) => id === 0xffffff00)).toEqual(decoded("add group_id=4294967040").group);
        expect(received("one-group")).toMatchObject({ reply: { kind: "groups", groups: [{ id: 1048577 }] } });
    });

    it("counters of groups and their buckets", () => {
        const message = received("group-stats");
        const all =
            message.type === "multipart_reply" && message.reply.kind === "group_counters" ? message.reply.counters : [];
        expect(all.length).toBe(8);
        const one = all.find(({ id }) => id === 1);
        expect(one).toMatchObject({ references: 0, packets: 0n, bytes: 0n });
        expect(one?.buckets).toEqual([1, 2, 3].map(() => ({ packets: 0n, bytes: 0n })));
        expect(one?.durationSeconds).toBeGreaterThan(0);
        expect(one?.durationSeconds).toBeLessThan(60);
    });

    it("meters, and errors of both by name", () => {
        expect(received("meters")).toMatchObject({
            reply: { kind: "meters", meters: [{ id: 7, unit: "packets", rate: 500 }] },
        });
        expect(received("meter-again")).toMatchObject({ type: "error", error: { name: "OFPMMFC_METER_EXISTS" } });
        expect(received("group-again")).toMatchObject({ type: "error", error: { name: "OFPGMFC_GROUP_EXISTS" } });
    });
});

describe("requests have the bytes of ovs-ofctl", () => {
    it("groups, counters, meters", () => {
        expect(encoded((writer) => writeGroupDescRequest(writer, 2))).toBe(sent("groups"));
        expect(encoded((writer) => writeGroupDescRequest(writer, 2, 1048577))).toBe(sent("one-group"));
        expect(encoded((writer) => writeGroupStatsRequest(writer, 6))).toBe(sent("group-stats"));
        expect(encoded((writer) => writeMeterConfigRequest(writer, 2))).toBe(sent("meters"));
    });

    it.each<[string, MeterMod]>([
        ["meter-add", { command: "add", meter: { id: 7, unit: "packets", rate: 1000, burst: 200 } }],
        ["meter-kbps", { command: "add", meter: { id: 4294901760, unit: "kilobits", rate: 1 } }],
        ["meter-modify", { command: "modify", meter: { id: 7, unit: "packets", rate: 500 } }],
        ["meter-delete", { command: "delete", meter: { id: 7 } }],
        ["meter-delete-all", { command: "delete", meter: { id: "all" } }],
    ])("%s", (name, mod) => {
        expect(encoded((writer) => writeMeterMod(writer, 2, mod))).toBe(sent(name));
        expect(decodeMessage(bytes(sent(name)))).toEqual({ xid: 2, type: "meter_mod", mod });
    });

    const four = (value: number) => ({ family: 4, value: BigInt(value) }) as const;
    const six = (value: bigint) => ({ family: 6, value }) as const;
    it.each<[string, CtFlush]>([
        ["flush-zone", { zone: 65520 }],
        ["flush-four", { zone: 65520, protocol: 17, original: { dst: four(0x0a600001), dstPort: 53 } }],
        ["flush-reply", { zone: 7, protocol: 17, reply: { src: four(0x0a0a0005), srcPort: 5353 } }],
        [
            "flush-six",
            {
                zone: 65510,
                protocol: 6,
                original: {
                    src: six(0xfd000000000000000000000000000009n),
                    dst: six(0xfd000096000000000000000000000001n),
                    srcPort: 1000,
                    dstPort: 443,
                },
                reply: { src: six(0xfd000010000000000000000000000005n) },
            },
        ],
        ["flush-protocol", { zone: 3, protocol: 132 }],
    ])("%s", (name, flush) => {
        expect(encoded((writer) => writeCtFlush(writer, 2, flush))).toBe(sent(name));
    });

    it.each<[string, Omit<CtFlush, "zone">, RegExp]>([
        ["a port without protocol", { original: { dstPort: 53 } }, /ports need protocol 6, 17 or 132/],
        ["a port of ICMP", { protocol: 1, reply: { srcPort: 53 } }, /ports need protocol/],
        ["port 0", { protocol: 6, original: { srcPort: 0 } }, /port 0 matches every one/],
        ["protocol 0", { protocol: 0 }, /protocol 0 matches every one/],
        ["an unspecified address", { original: { src: six(0n) } }, /an unspecified address matches every one/],
        ["both families", { original: { src: six(1n) }, reply: { src: four(1) } }, /addresses of both families/],
        ["a protocol of 9 bits", { protocol: 256 }, /flush.protocol: 256/],
    ])("a flush that would remove more than it names is refused: %s", (_, part, message) => {
        expect(() => writeCtFlush(new Writer(), 1, { zone: 1, ...part })).toThrow(
            expect.objectContaining({ code: "BAD_VALUE", message: expect.stringMatching(message) }),
        );
    });
});

describe("the key of a group", () => {
    const bucket: GroupBucket = { id: 1, actions: [{ type: "output", port: 2 }] };
    const group: Group = { id: 7, type: "select", buckets: [bucket, { ...bucket, id: 2 }] };

    it("is that of another one which does the same, whatever its id", () => {
        const buckets = [
            { ...bucket, weight: 1 },
            { ...bucket, id: 2 },
        ];
        const other: Group = { ...group, id: 8, buckets };
        expect(groupBodyKey(other)).toBe(groupBodyKey(group));
    });

    it.each<[string, Partial<Group>]>([
        ["type", { type: "all" }],
        ["selection", { selection: { method: "dp_hash" } }],
        ["parameter", { selection: { method: "dp_hash", param: 1n } }],
        ["order of buckets", { buckets: group.buckets.toReversed() }],
        ["number of buckets", { buckets: [bucket] }],
        [
            "weight",
            {
                buckets: [
                    { ...bucket, weight: 2 },
                    { ...bucket, id: 2 },
                ],
            },
        ],
        [
            "watched port",
            {
                buckets: [
                    { ...bucket, watchPort: 2 },
                    { ...bucket, id: 2 },
                ],
            },
        ],
        [
            "actions",
            {
                buckets: [
                    { ...bucket, actions: [] },
                    { ...bucket, id: 2 },
                ],
            },
        ],
    ])("differs by %s", (_, change) => {
        expect(groupBodyKey({ ...group, ...change })).not.toBe(groupBodyKey(group));
    });

    it("has those of its buckets", () => {
        expect(bucketKey(bucket, "select")).toBe(bucketKey({ ...bucket, weight: 1 }, "select"));
        expect(bucketKey(bucket, "select")).not.toBe(bucketKey({ ...bucket, id: 3 }, "select"));
    });
});
