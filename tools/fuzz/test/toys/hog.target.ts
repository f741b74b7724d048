import { type Target } from "../../target.ts";

/** Takes what memory a length field asks for, before anything of that length is there. */
export const target: Target = {
    seeds: () => [Uint8Array.of(0, 0, 0, 16, 1, 2, 3, 4)],
    run: (input) => {
        if (input.length < 4) return;
        const length = new DataView(input.buffer, input.byteOffset).getUint32(0);
        new Uint8Array(Math.min(length, 1 << 28)).fill(1, 0, 1);
    },
};
