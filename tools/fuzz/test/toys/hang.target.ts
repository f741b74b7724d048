import { type Target } from "../../target.ts";

/** Never ends for one byte at one place. */
export const target: Target = {
    seeds: () => [new Uint8Array(8)],
    run: (input) => {
        for (let at = 0; at < input.length; at++) while (at === 3 && input[at] === 0x2a);
    },
};
