import { type Target } from "../../target.ts";

/** Whether a byte has these bits: half by half, so that no comparison shows the whole byte. */
function has(byte: number | undefined, bits: number): boolean {
    const difference = (byte ?? 0) ^ bits;
    return (difference & 0x0f) < 1 && (difference & 0xf0) < 1;
}

/** Breaks for five bytes, one after another: chance needs 2^40 tries, coverage some thousands for each byte. */
export const target: Target = {
    seeds: () => [new Uint8Array(16)],
    run: (input) => {
        if (!has(input[2], 0xa7)) return;
        if (!has(input[3], 0x13)) return;
        if (!has(input[5], 0xc4)) return;
        if (!has(input[8], 0x5e)) return;
        if (!has(input[9], 0x91)) return;
        throw new TypeError("the seeded crash");
    },
};
