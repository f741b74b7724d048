import * as fc from "fast-check";
import { familyBits, type Family, type IpAddress, type IpRange } from "../src/index.ts";

export function lastValue(family: Family): bigint {
    return (1n << BigInt(familyBits(family))) - 1n;
}

export const family: fc.Arbitrary<Family> = fc.constantFrom<Family>(4, 6);

/** Any address, with more near both ends and near a border of 64 bits than chance gives. */
export const address: fc.Arbitrary<IpAddress> = family.chain((of) => {
    const last = lastValue(of);
    const middle = of === 4 ? 1n << 31n : 1n << 64n;
    const near = fc.oneof(
        fc.bigInt({ min: 0n, max: last }),
        fc.bigInt({ min: 0n, max: 8n }),
        fc.bigInt({ min: last - 8n, max: last }),
        fc.bigInt({ min: middle - 8n, max: middle + 8n }),
    );
    return near.map((value) => ({ family: of, value }));
});

/** Any range, up to a whole family. */
export const range: fc.Arbitrary<IpRange> = address.chain(({ family: of, value }) => {
    const other = fc.oneof(
        fc.bigInt({ min: 0n, max: lastValue(of) }),
        fc.bigInt({ min: -8n, max: 8n }).map((step) => clamp(value + step, lastValue(of))),
    );
    return other.map((end) => ({ family: of, first: value < end ? value : end, last: value < end ? end : value }));
});

/** Small ranges that lie close together at a place which hurts: the ends of a family, or a border of 64 bits. */
export const closeRanges: fc.Arbitrary<readonly IpRange[]> = fc
    .record({ of: family, place: fc.constantFrom("start", "middle", "end") })
    .chain(({ of, place }) => {
        const bases = { start: 0n, middle: of === 4 ? (1n << 31n) - 30n : (1n << 64n) - 30n, end: lastValue(of) - 63n };
        const base = bases[place as keyof typeof bases];
        const one = fc
            .tuple(fc.integer({ min: 0, max: 63 }), fc.integer({ min: 0, max: 12 }))
            .map(([from, length]) => ({
                family: of,
                first: base + BigInt(from),
                last: base + BigInt(Math.min(63, from + length)),
            }));
        return fc.array(one, { maxLength: 12 });
    });

function clamp(value: bigint, last: bigint): bigint {
    return value < 0n ? 0n : value > last ? last : value;
}
