import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import {
    add,
    datagrams,
    deadBucket,
    endpoint,
    equalBuckets,
    group,
    LiveSwitch,
    service,
    serviceFlow,
    serviceMark,
    slotBuckets,
    translation,
    zone,
    type Entry,
} from "./live.ts";

const vip = "10.96.0.1";
const client = "10.10.9.9";

describe("translation in the buckets of a group", () => {
    let live: LiveSwitch;

    beforeAll(async () => {
        live = await LiveSwitch.start();
    });
    afterAll(() => live[Symbol.asyncDispose]());
    beforeEach(() => live.reset());

    it.each([
        [4, vip, client],
        [6, "fd00:96::1", "fd00:10:9::9"],
    ] as const)("IPv%d: bucket translates and commits; group and flow are of one bundle", async (family, to, from) => {
        const buckets = [deadBucket, ...equalBuckets(2, family)];
        await live.connection.bundle(service(to, { method: "dp_hash" }, buckets));
        await live.send(datagrams(200, to, from));
        const all = await live.entries();
        expect(all.length).toBe(200);
        for (const { original, reply, ...rest } of all) {
            expect(rest).toEqual({ protocol: "udp", zone, mark: serviceMark });
            expect(original).toEqual({ src: from, dst: to, sport: original.sport, dport: 53 });
            expect([endpoint(0, family), endpoint(1, family)]).toContain(reply.src);
            expect(reply).toMatchObject({ dst: from, sport: 8080, dport: original.sport });
        }
    });

    it("new connections follow a bundle that changes the group at once, established ones stay", async () => {
        await live.connection.bundle(service(vip, { method: "dp_hash" }, slotBuckets(2)));
        await live.send(datagrams(50, vip, client));
        const before = await live.entries();
        const moved = slotBuckets(1).map((bucket) => ({ ...bucket, actions: translation(7) }));
        await live.connection.bundle(service(vip, { method: "dp_hash" }, moved));
        await live.send(datagrams(100, vip, client));
        const after = await live.entries();
        const isOld = ({ original }: Entry): boolean => original.sport < 10_050;
        const places = (all: readonly Entry[]): readonly string[] =>
            all.map(({ original, reply }) => `${original.sport} ${reply.src}`).sort();
        expect(places(after.filter(isOld))).toEqual(places(before));
        const fresh = after.filter((entry) => !isOld(entry));
        expect(fresh.length).toBe(50);
        expect(new Set(fresh.map(({ reply }) => reply.src))).toEqual(new Set([endpoint(7)]));
    });

    it("a bundle that is refused in the middle leaves groups and flows as they were", async () => {
        await live.connection.bundle(service(vip, { method: "dp_hash" }, slotBuckets(2)));
        const before = await live.connection.dumpGroups();
        await expect(
            live.connection.bundle([
                group(1, { method: "hash" }, equalBuckets(5)),
                group(2, { method: "hash" }, equalBuckets(2)),
                add(serviceFlow("10.96.0.2", 53, 2)),
                { command: "remove_bucket", group: { id: 3 }, bucket: "first" },
                add(serviceFlow("10.96.0.3", 53, 2)),
            ]),
        ).rejects.toMatchObject({
            code: "REFUSED",
            details: { index: 3, group: 3, errorName: "OFPGMFC_UNKNOWN_GROUP" },
        });
        expect(await live.connection.dumpGroups()).toEqual(before);
        expect((await live.connection.countFlows()).flows).toBe(2);
    });

    it("the deletion of a group deletes the flows that use it", async () => {
        await live.connection.bundle([
            ...service(vip, { method: "dp_hash" }, slotBuckets(2), 1),
            ...service("10.96.0.2", { method: "dp_hash" }, slotBuckets(2), 2),
        ]);
        await live.connection.bundle([{ command: "delete", group: { id: 1 } }]);
        expect((await live.connection.dumpFlows({ table: 0 })).map(({ actions }) => actions)).toEqual([
            [{ type: "group", group: 2 }],
        ]);
    });
});
