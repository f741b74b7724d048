import { formatIp } from "@antrea/ip";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type GroupBucket, type GroupSelection } from "../../src/codec/index.ts";
import { datagrams, endpoint, equalBuckets, LiveSwitch, service, tally, translation } from "./live.ts";

const vip = "10.96.0.1";
const clients = Array.from({ length: 500 }, (_, index) =>
    formatIp({ family: 4, value: 0x0a14_0000n + BigInt(index + 1) }),
);

/** The choice by the address of the client. */
function byClient(salt: bigint): GroupSelection {
    return { method: "hash", param: salt, fields: [{ field: "ipv4_src" }, { field: "ipv6_src" }] };
}

describe("groups of method hash", () => {
    let live: LiveSwitch;

    beforeAll(async () => {
        live = await LiveSwitch.start();
    });
    afterAll(() => live[Symbol.asyncDispose]());
    beforeEach(() => live.reset());

    /** The endpoint of each client; each of its connections must have the same. */
    async function choices(): Promise<ReadonlyMap<string, string>> {
        const of = new Map<string, string>();
        for (const { original, reply } of await live.entries()) {
            expect(reply.src).toBe(of.get(original.src) ?? reply.src);
            of.set(original.src, reply.src);
        }
        return of;
    }

    /** The choices of a group for new connections of all clients, four of each. */
    async function chosen(
        selection: GroupSelection,
        buckets: readonly GroupBucket[],
    ): Promise<ReadonlyMap<string, string>> {
        await live.ovs.ask("dpctl/flush-conntrack");
        await live.connection.bundle(service(vip, selection, buckets));
        await live.send(clients.flatMap((client) => [...datagrams(4, vip, client)]));
        const found = await choices();
        expect(found.size).toBe(clients.length);
        return found;
    }

    /** The clients whose endpoint differs. */
    function moved(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): readonly string[] {
        return clients.filter((client) => before.get(client) !== after.get(client));
    }

    it("one client has one endpoint at once, and clients are spread; another salt spreads them anew", async () => {
        const first = await chosen(byClient(1n), equalBuckets(10));
        // 50 for each of ten; six standard deviations of 6.7.
        const counts = [...tally(first.values()).values()];
        expect(counts.length).toBe(10);
        expect(Math.min(...counts)).toBeGreaterThan(10);
        expect(Math.max(...counts)).toBeLessThan(90);
        expect(moved(first, await chosen(byClient(1n), equalBuckets(10)))).toEqual([]);
        // Nine of ten would be 450; independent of the first choice.
        const other = moved(first, await chosen(byClient(2n), equalBuckets(10))).length;
        expect(other).toBeGreaterThan(400);
        expect(other).toBeLessThan(490);
    });

    it("a bucket that comes or goes moves its own clients only, whatever the order; so does a restart", async () => {
        const ten = await chosen(byClient(7n), equalBuckets(10));
        const nine = await chosen(
            byClient(7n),
            equalBuckets(10).filter(({ id }) => id !== 4),
        );
        expect(moved(ten, nine)).toEqual(clients.filter((client) => ten.get(client) === endpoint(3)));
        const eleven = await chosen(byClient(7n), [...equalBuckets(11)].reverse());
        expect(moved(ten, eleven)).toEqual(clients.filter((client) => eleven.get(client) === endpoint(10)));
        await live.ovs.restartVswitchd();
        expect(moved(ten, await chosen(byClient(7n), equalBuckets(10)))).toEqual([]);
    });

    it("insert_bucket and remove_bucket change one endpoint of a group of thousands", async () => {
        const before = await chosen(byClient(7n), equalBuckets(5_000));
        await live.connection.bundle([
            { command: "remove_bucket", group: { id: 1 }, bucket: 17 },
            {
                command: "insert_bucket",
                group: { id: 1, type: "select", buckets: [{ id: 17, actions: translation(6_000) }] },
                place: "last",
            },
        ]);
        await live.ovs.ask("dpctl/flush-conntrack");
        await live.send(clients.flatMap((client) => [...datagrams(1, vip, client)]));
        // The same id has the same clients.
        const after = await choices();
        for (const client of clients) {
            expect(after.get(client)).toBe(before.get(client) === endpoint(16) ? endpoint(6_000) : before.get(client));
        }
    });

    it("IPv6 clients, by their address", async () => {
        const to = "fd00:96::1";
        await live.connection.bundle(service(to, byClient(1n), equalBuckets(10, 6)));
        const six = clients
            .slice(0, 100)
            .map((_, index) => formatIp({ family: 6, value: (0xfd20n << 112n) + BigInt(index + 1) }));
        await live.send(six.flatMap((client) => [...datagrams(4, to, client)]));
        const found = await choices();
        expect(found.size).toBe(six.length);
        expect(new Set(found.values()).size).toBe(10);
    });

    it.each([1_000, 5_000])(
        "10,000 connections of one client over %d endpoints, by address and port",
        async (count) => {
            const fields = [{ field: "ipv4_src" }, { field: "udp_src" }] as const;
            await live.connection.bundle(service(vip, { method: "hash", fields }, equalBuckets(count)));
            await live.send(datagrams(10_000, vip, "10.10.9.9"));
            const counts = tally((await live.entries()).map(({ reply }) => reply.src));
            const mean = 10_000 / count;
            const each = Array.from({ length: count }, (_, index) => counts.get(endpoint(index)) ?? 0);
            expect(each.reduce((sum, one) => sum + one, 0)).toBe(10_000);
            // Chi-squared against an equal chance for each, per degree of freedom: 1 with a standard deviation of 0.045.
            const spread = each.reduce((sum, one) => sum + (one - mean) ** 2 / mean, 0) / (count - 1);
            expect(spread).toBeGreaterThan(0.8);
            expect(spread).toBeLessThan(1.2);
            // Of buckets with the same score the first is chosen, which favours none noticeably.
            const half = each.slice(0, count / 2).reduce((sum, one) => sum + one, 0);
            expect(Math.abs(half - 5_000)).toBeLessThan(300);
        },
    );

    it("without fields the ports of UDP do not count, so a client has one endpoint for all", async () => {
        for (const selection of [{ method: "hash" }, undefined] as const) {
            await live.reset();
            const buckets = equalBuckets(300);
            const [, ...flows] = service(vip, { method: "hash" }, []);
            const choice = selection === undefined ? {} : { selection };
            await live.connection.bundle([
                { command: "add", group: { id: 1, type: "select", buckets, ...choice } },
                ...flows,
            ]);
            await live.send(datagrams(200, vip, "10.10.9.9"));
            expect(new Set((await live.entries()).map(({ reply }) => reply.src)).size).toBe(1);
        }
    });
});
