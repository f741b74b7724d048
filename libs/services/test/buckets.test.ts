import { describe, expect, it } from "@jest/globals";
import { parseIp } from "@antrea/ip";
import fc from "fast-check";
import { bucketIds, bucketSelection, deadBucketId, type BucketTarget } from "../src/index.ts";

/** The endpoint of each slot; undefined is the dead bucket. As ofproto-dpif.c of OVS 3.1 divides the slots. */
function slotsOfOvs(buckets: readonly { readonly endpoint: number | undefined; readonly weight: number }[]) {
    const total = buckets.reduce((sum, { weight }) => sum + weight, 0);
    const needed = Math.ceil(total / Math.min(...buckets.map(({ weight }) => weight)));
    const slots = Math.max(16, 2 ** Math.ceil(Math.log2(needed)));
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

/** The slots of each endpoint, those of the dead bucket counted for the next live one. */
function sharesOf(count: number): { readonly slots: number; readonly shares: readonly number[] } | "default" {
    const selection = bucketSelection(count);
    if (selection.method === "default") return "default";
    const buckets: { endpoint: number | undefined; weight: number }[] = selection.weights.map((weight, endpoint) => ({
        endpoint,
        weight,
    }));
    const { dead } = selection;
    if (dead !== undefined) buckets.splice(dead.before, 0, { endpoint: undefined, weight: dead.weight });
    const table = slotsOfOvs(buckets);
    expect([count, table.length]).toEqual([count, selection.slots]);
    const shares = Array.from({ length: count }, () => 0);
    table.forEach((_, slot) => {
        let at = slot;
        while (table[at % table.length] === undefined) at += 1;
        const endpoint = table[at % table.length] ?? 0;
        shares[endpoint] = (shares[endpoint] ?? 0) + 1;
    });
    return { slots: table.length, shares };
}

describe("bucketSelection", () => {
    it("gives the busiest endpoint at most 1.25 times the mean up to 64 endpoints, 1.5 times up to 256", () => {
        for (let count = 1; count <= 256; count += 1) {
            const chosen = sharesOf(count);
            if (chosen === "default") continue;
            const busiest = (Math.max(...chosen.shares) * count) / chosen.slots;
            expect([count, busiest <= (count <= 64 ? 1.25 : 1.5)]).toEqual([count, true]);
        }
    });

    it("leaves no endpoint without a slot, and gives each eight while there are enough", () => {
        for (let count = 1; count <= 192; count += 1) {
            const chosen = sharesOf(count);
            const least = chosen === "default" ? 0 : Math.min(...chosen.shares);
            expect([count, least >= (count <= 31 ? 8 : 1)]).toEqual([count, true]);
        }
    });

    it.each<[number, string]>([
        [1, "16 slots, dead 0: 15"],
        [2, "32 slots, dead 1: 16 15"],
        [3, "32 slots, dead 1: 11 10 10"],
        [5, "64 slots, dead 3: 13 13 13 12 12"],
        [192, "256 slots: 64 × 2, 128 × 1"],
        [128, "128 slots: 0 × 2, 128 × 1"],
        [127, "256 slots, dead 1: 1 × 3, 126 × 2"],
        [193, "default"],
        [255, "default"],
        [256, "256 slots: 0 × 2, 256 × 1"],
        [257, "default"],
        [5000, "default"],
    ])("for %i endpoints: %s", (count, expected) => {
        const chosen = bucketSelection(count);
        if (chosen.method === "default") return void expect(expected).toBe("default");
        const most = Math.max(2, ...chosen.weights);
        const counted = [most, most - 1].map(
            (weight) => `${chosen.weights.filter((one) => one === weight).length} × ${weight}`,
        );
        const text = count < 10 ? chosen.weights.join(" ") : counted.join(", ");
        const dead = chosen.dead === undefined ? "" : `, dead ${chosen.dead.before}`;
        expect(`${chosen.slots} slots${dead}: ${text}`).toBe(expected);
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
