import { type Outcome } from "./executor.ts";
import { Thread, type ThreadOptions } from "./thread.ts";

/** A problem with an input. */
export interface Fault {
    readonly kind: "crash" | "memory" | "hang";
    /** Equal for the same defect. */
    readonly key: string;
    readonly text: string;
}

const hangTries = 3;
const shrinkMs = 20_000;

/** Classifies single inputs of one target, each in a new worker. */
export class Judge {
    readonly #thread: Thread;

    constructor(file: string, options: ThreadOptions) {
        this.#thread = new Thread(file, options);
    }

    /** Undefined for an input without a problem. */
    async judge(input: Uint8Array): Promise<Fault | undefined> {
        let outcome: Outcome | undefined;
        const ending = await this.#thread.work({ kind: "run", input }, (report) => {
            if (report.kind === "outcome") outcome = report.outcome;
            return outcome !== undefined;
        });
        if (ending.kind === "hang") return { kind: "hang", key: "hang", text: ending.text };
        if (ending.kind === "death") return { kind: "memory", key: "death", text: ending.text };
        return outcome !== undefined && "key" in outcome ? outcome : undefined;
    }

    /** Whether the input exceeds the time limit every time, not only on a busy machine. */
    async hangs(input: Uint8Array): Promise<boolean> {
        for (let tries = 0; tries < hangTries; tries++) {
            if ((await this.judge(input))?.kind !== "hang") return false;
        }
        return true;
    }

    /** A smaller input with the same fault. */
    async shrink(input: Uint8Array, key: string): Promise<Uint8Array> {
        const end = performance.now() + shrinkMs;
        let best = input;
        for (let size = best.length >> 1; size > 0; size >>= 1) {
            for (let at = 0; at < best.length;) {
                if (performance.now() > end) return best;
                const shorter = Uint8Array.from([...best.subarray(0, at), ...best.subarray(at + size)]);
                if ((await this.judge(shorter))?.key === key) best = shorter;
                else at += size;
            }
        }
        return best;
    }
}
