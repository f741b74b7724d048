import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { decodeMessage, type BundleMod, type GroupMod } from "../../src/codec/index.ts";
import { bytes, groupMods } from "../fixtures.ts";
import { datagrams, endpoint, equalBuckets, group, LiveSwitch, service, tally } from "./live.ts";

const byClientAndPort = { method: "hash", fields: [{ field: "ipv4_src" }, { field: "udp_src" }] } as const;

describe("groups of ovs-vswitchd", () => {
    let live: LiveSwitch;

    beforeAll(async () => {
        live = await LiveSwitch.start();
    });
    afterAll(() => live[Symbol.asyncDispose]());
    beforeEach(() => live.reset());

    it("describes every group that ovs-ofctl can add as it was asked for", async () => {
        const adds = groupMods.flatMap(({ hex }): BundleMod[] => {
            const message = decodeMessage(bytes(hex));
            return message.type === "group_mod" && message.mod.command === "add" ? [message.mod] : [];
        });
        for (const id of [7, 9]) {
            await live.connection.changeMeter({ command: "add", meter: { id, unit: "packets", rate: 1000 } });
        }
        const watched = [2, 3, 9].map((id): BundleMod => group(id, byClientAndPort, []));
        await live.connection.bundle([
            ...watched,
            ...adds.map((mod) => ({ ...mod, command: "add_or_modify" }) as GroupMod),
        ]);
        const described = await live.connection.dumpGroups();
        for (const mod of adds) {
            if (!("group" in mod)) continue;
            expect(described.find(({ id }) => id === mod.group.id)).toEqual(mod.group);
            expect(await live.connection.dumpGroups(Number(mod.group.id))).toEqual([mod.group]);
        }
        expect(await live.connection.dumpGroups(12345)).toEqual([]);
        await live.connection.changeMeter({ command: "delete", meter: { id: "all" } });
    });

    it("a group of five messages in one bundle has all its buckets, before the flow that uses it", async () => {
        await live.connection.bundle(service("10.96.0.1", byClientAndPort, equalBuckets(4_000)));
        const [counters] = await live.connection.groupCounters(1);
        expect(counters?.buckets.length).toBe(4_000);
        await live.send(datagrams(8_000, "10.96.0.1", "10.10.9.9"));
        const used = tally((await live.entries()).map(({ reply }) => reply.src));
        // Two connections for each: all but one of seven endpoints have some.
        for (const from of [0, 1_000, 2_000, 3_000]) {
            const part = Array.from({ length: 1_000 }, (_, index) => endpoint(from + index));
            expect(part.filter((address) => used.has(address)).length).toBeGreaterThan(820);
        }
    });

    it.each<[string, number, (live: LiveSwitch) => Promise<number | undefined>]>([
        // 80 bytes a bucket in a message of 64 KiB, and 16 bytes of counters.
        ["described", 818, async ({ connection }) => (await connection.dumpGroups(1))[0]?.buckets.length],
        ["counted", 4_091, async ({ connection }) => (await connection.groupCounters(1))[0]?.buckets.length],
    ])(
        "one of more than 64 KiB cannot be %s: the answer is wrong or ends the connection, which then works again",
        async (_, most, read) => {
            await live.connection.bundle([group(1, { method: "hash" }, equalBuckets(most))]);
            expect(await read(live)).toBe(most);
            await live.connection.bundle([group(1, { method: "hash" }, equalBuckets(most + 5))]);
            expect(await read(live).catch(() => undefined)).not.toBe(most + 5);
            await live.connection.bundle([{ command: "delete", group: { id: 1 } }]);
            expect(await live.connection.dumpGroups(1)).toEqual([]);
        },
    );

    it("a group of groups has 5,000 endpoints in groups that can be described, as evenly", async () => {
        const all = equalBuckets(5_000);
        const parts = Array.from({ length: 8 }, (_, part) => all.filter(({ id }) => id % 8 === part));
        await live.connection.bundle([
            ...parts.map((buckets, part) => group(10 + part, byClientAndPort, buckets)),
            ...service(
                "10.96.0.1",
                byClientAndPort,
                // With ids that no endpoint has: equal ids have equal scores, so the two choices would not be independent.
                parts.map((_, part) => ({ id: 0xff00_0000 + part, actions: [{ type: "group", group: 10 + part }] })),
            ),
        ]);
        expect((await live.connection.dumpGroups()).flatMap(({ buckets }) => buckets).length).toBe(5_008);
        await live.send(datagrams(10_000, "10.96.0.1", "10.10.9.9"));
        const counts = tally((await live.entries()).map(({ reply }) => reply.src));
        const spread = all.reduce((sum, { id }) => sum + ((counts.get(endpoint(id - 1)) ?? 0) - 2) ** 2 / 2, 0) / 4_999;
        expect(spread).toBeGreaterThan(0.9);
        expect(spread).toBeLessThan(1.1);
    });
});
