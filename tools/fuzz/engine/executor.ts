import { setImmediate } from "node:timers/promises";
import { getHeapStatistics } from "node:v8";
import { isTypedRefusal, type Target } from "../target.ts";
import { type Probes } from "./probes.ts";

/** The result of one input. */
export type Outcome =
    | { readonly kind: "taken" | "refused" }
    | { readonly kind: "crash" | "memory"; readonly key: string; readonly text: string };

const freeBytes = 8 << 20;
const defaultBytesPerByte = 2_048;
const memoryTries = 3;

/** Runs inputs one at a time and classifies the results. Branches are counted in `probes` until the next input. */
export class Executor {
    readonly #target: Target;
    readonly #probes: Probes;
    #stray: { readonly error: unknown } | undefined;

    constructor(target: Target, probes: Probes) {
        this.#target = target;
        this.#probes = probes;
        const keep = (error: unknown): void => {
            this.#stray ??= { error };
        };
        // Most inputs are rejected, and the stack trace costs more than the rest of a rejection.
        Error.stackTraceLimit = 0;
        process.on("unhandledRejection", keep);
        process.on("uncaughtException", keep);
    }

    async execute(input: Uint8Array): Promise<Outcome> {
        this.#probes.clear();
        this.#stray = undefined;
        const before = heldBytes();
        const outcome = await this.#run(input);
        if (outcome.kind === "crash") return this.#withStack(input, outcome);
        const allowed = freeBytes + input.length * (this.#target.bytesPerByte ?? defaultBytesPerByte);
        const allocated = await this.#least(input, heldBytes() - before, allowed);
        if (allocated <= allowed) return outcome;
        const text = `${input.length} bytes of input allocated ${allocated} bytes, at most ${allowed} are allowed`;
        return { kind: "memory", key: "memory", text };
    }

    /**
     * The allocation of an execution, measured again if it is too high: the engine's own threads may have
     * contributed.
     */
    async #least(input: Uint8Array, allocated: number, allowed: number): Promise<number> {
        let least = allocated;
        for (let tries = 1; tries < memoryTries && least > allowed; tries++) {
            const before = heldBytes();
            await this.#run(input);
            least = Math.min(least, heldBytes() - before);
        }
        return least;
    }

    async #withStack(input: Uint8Array, outcome: Outcome): Promise<Outcome> {
        Error.stackTraceLimit = 20;
        const again = await this.#run(input);
        Error.stackTraceLimit = 0;
        return again.kind === "crash" ? again : outcome;
    }

    async #run(input: Uint8Array): Promise<Outcome> {
        try {
            const pending = this.#target.run(input);
            if (pending !== undefined) await pending;
            // Lets pending immediates run and unhandled rejections be reported.
            if (pending !== undefined) await setImmediate();
        } catch (error) {
            const isRefusal = this.#target.isRefusal ?? isTypedRefusal;
            return isRefusal(error) ? { kind: "refused" } : crash(error);
        }
        return this.#stray === undefined ? { kind: "taken" } : crash(this.#stray.error);
    }
}

function heldBytes(): number {
    const { used_heap_size, external_memory } = getHeapStatistics();
    return used_heap_size + external_memory;
}

/** Crashes are distinguished by the error's class and code and the location that threw it. */
function crash(error: unknown): Outcome {
    if (!(error instanceof Error)) return { kind: "crash", key: `thrown ${typeof error}`, text: String(error) };
    const lines = (error.stack ?? "").split("\n");
    const place = lines.find((line) => /^\s+at .*\.mjs:/.test(line)) ?? "";
    const code = "code" in error ? String(error.code) : "";
    // The location of a stack overflow depends on the input.
    const where = /call stack/.test(error.message) ? error.message : place.trim().replace(/:\d+\)?$/, "");
    return { kind: "crash", key: `${error.name} ${code} ${where}`, text: error.stack ?? error.message };
}
