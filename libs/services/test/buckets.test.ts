import { describe, expect, it } from "@jest/globals";
import { parseIp } from "@antrea/ip";
import fc from "fast-check";
import { bucketCount, bucketIds, bucketSelection, deadBucketId, type BucketTarget } from "../src/index.ts";

interface Bucket {
    /** Undefined for the dead bucket. */
    readonly endpoint: number | undefined;
    readonly weight: number;
}

/** The endpoint of each slot as ofproto-dpif.c of OVS 3.1 divides them. */
function slotsOfOvs(buckets: readonly Bucket[]): readonly (number | undefined)[] {
    const total = buckets.reduce((sum, { weight }) => sum + weight, 0);
    const needed = Math.ceil(total / Math.min(...buckets.map(({ weight }) => weight)));
    const slots = Math.max(16, 2 ** Math.ceil(Math.log2(needed)));
    // with more, OVS would not use dp_hash
    expect(slots).toBeLessThanOrEqual(256);
    const hits = buckets.map(() => 0);
    return Array.from({ length: slots }, () => {
        let winner = 0;
        const value = (at: number): number => (buckets[at]?.weight ?? 0) / (2 * (hits[at] ?? 0) + 1);
        buckets.forEach((_, at) => {
            if (value(at) > value(winner)) winner = at;
        });
        hits[winner] = (hits[winner] ?? 0) + 1;
        return buckets[winner]?.endpoint;
    });
}

/** The slots of each endpoint, those of the dead bucket counted for the next live one; undefined without slots. */
function sharesOf(count: number): readonly number[] | undefined {
    const selection = bucketSelection(count);
    if (selection.method === "hash") return undefined;
    const { weights, dead } = selection;
    const live: readonly Bucket[] = weights.map((weight, endpoint) => ({ endpoint, weight }));
    const table = slotsOfOvs(
        dead === undefined ? live : live.toSpliced(dead.before, 0, { endpoint: undefined, weight: dead.weight }),
    );
    const shares = Array.from({ length: count }, () => 0);
    table.forEach((_, slot) => {
        let at = slot;
        while (table[at % table.length] === undefined) at += 1;
        const endpoint = table[at % table.length] ?? 0;
        shares[endpoint] = (shares[endpoint] ?? 0) + 1;
    });
    return shares;
}

describe("bucketSelection", () => {
    it("gives the busiest endpoint at most 1.25 times the mean up to 64 endpoints, 1.5 times up to 256", () => {
        for (let count = 1; count <= 300; count += 1) {
            const shares = sharesOf(count) ?? [];
            const mean = shares.reduce((sum, share) => sum + share, 0) / count;
            expect([count, Math.max(0, ...shares) <= mean * (count <= 64 ? 1.25 : 1.5)]).toEqual([count, true]);
        }
    });

    it("leaves no endpoint without a slot, and gives each eight while there are enough", () => {
        for (let count = 1; count <= 192; count += 1) {
            const least = Math.min(...(sharesOf(count) ?? [0]));
            expect([count, least >= (count <= 31 ? 8 : 1)]).toEqual([count, true]);
        }
    });

    it.each<[number, string]>([
        [1, "dp_hash: dead, 1 × 15"],
        [2, "dp_hash: 1 × 16, dead, 1 × 15"],
        [3, "dp_hash: 1 × 11, dead, 2 × 10"],
        [10, "dp_hash: 7 × 13, dead, 3 × 12"],
        [100, "dp_hash: 55 × 3, dead, 45 × 2"],
        [127, "dp_hash: 1 × 3, dead, 126 × 2"],
        [128, "dp_hash: 128 × 2"],
        [192, "dp_hash: 64 × 2, 128 × 1"],
        [193, "hash"],
        [255, "hash"],
        [256, "dp_hash: 256 × 1"],
        [257, "hash"],
        [5000, "hash"],
    ])("for %i endpoints: %s", (count, expected) => {
        const selection = bucketSelection(count);
        if (selection.method === "hash") {
            expect([expected, bucketCount(count)]).toEqual(["hash", count]);
            return;
        }
        const { weights, dead } = selection;
        const parts: string[] = [];
        for (let at = 0; at < count;) {
            if (at === dead?.before) parts.push("dead");
            const run = weights.slice(at).findIndex((weight) => weight !== weights[at]);
            const length = run < 0 ? count - at : run;
            parts.push(`${length} × ${weights[at] ?? 0}`);
            at += length;
        }
        expect([`dp_hash: ${parts.join(", ")}`, dead?.weight ?? 1]).toEqual([expected, 1]);
        expect(bucketCount(count)).toBe(count + (dead === undefined ? 0 : 1));
    });
});

describe("bucketIds", () => {
    const target: fc.Arbitrary<BucketTarget> = fc
        .record({ host: fc.nat(0xffff), port: fc.integer({ min: 1, max: 0xffff }), six: fc.boolean() })
        .map(({ host, port, six }) => ({
            ip: six
                ? { family: 6, value: (0xfdn << 120n) + BigInt(host) }
                : { family: 4, value: 0x0a000000n + BigInt(host) },
            port,
        }));

    it("gives each endpoint an id of its own within the limits of OpenFlow", () => {
        fc.assert(
            fc.property(fc.array(target, { maxLength: 300 }), (targets) => {
                const ids = bucketIds(targets);
                expect(new Set(ids).size).toBe(targets.length);
                for (const id of ids) expect(id > deadBucketId && id <= 0xffffff00).toBe(true);
            }),
        );
    });

    it("depends on nothing but address and port while no two ids meet", () => {
        const targets = Array.from({ length: 2000 }, (_, at) => ({
            ip: parseIp(`10.1.${at >> 8}.${at & 0xff}`),
            port: 8080,
        }));
        const ids = bucketIds(targets);
        expect(targets.map((one) => bucketIds([one])[0])).toEqual(ids);
        expect(bucketIds(targets.toReversed())).toEqual(ids.toReversed());
        const [first = { ip: parseIp("10.1.0.0"), port: 0 }] = targets;
        expect(bucketIds([{ ip: first.ip, port: 8081 }])).not.toEqual(ids.slice(0, 1));
        expect(bucketIds([{ ip: parseIp("fd00::1"), port: 80 }])).not.toEqual(
            bucketIds([{ ip: parseIp("fd00::2"), port: 80 }]),
        );
    });

    it("gives the second of two equal ones another id, the first the same as alone", () => {
        const one = { ip: parseIp("10.1.0.1"), port: 80 };
        const [first, second] = bucketIds([one, one]);
        expect([first, second === first]).toEqual([bucketIds([one])[0], false]);
    });

    it("spreads the ids of neighbours over all bits", () => {
        const ids = bucketIds(
            Array.from({ length: 4096 }, (_, at) => ({ ip: parseIp(`10.2.${at >> 8}.${at & 0xff}`), port: 443 })),
        );
        for (let bit = 0; bit < 32; bit += 1) {
            const set = ids.filter((id) => ((id >>> bit) & 1) === 1).length;
            expect([bit, Math.abs(set - 2048) < 200]).toEqual([bit, true]);
        }
    });
});
