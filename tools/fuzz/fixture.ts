import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Logger } from "@antrea/runtime";

/** The text of a file of the repository; the fuzzer runs at its root. */
export function fileText(path: string): string {
    return readFileSync(join(process.cwd(), path), "utf8");
}

export function fromHex(hex: string): Uint8Array {
    return Uint8Array.from(Buffer.from(hex, "hex"));
}

/** JSON for people and for the mutator: an object of the kind that the API server has. */
export function json(value: unknown): string {
    return JSON.stringify(value);
}

/** The value of a JSON input; undefined for what is none, which the API server would not hand on. */
export function parsed(input: Uint8Array): unknown {
    try {
        return JSON.parse(new TextDecoder().decode(input)) as unknown;
    } catch {
        return undefined;
    }
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The input cut into chunks, whose sizes follow from its own bytes: the same input, the same cuts. */
export function* chunks(input: Uint8Array): Generator<Uint8Array> {
    let state = input.length;
    for (let at = 0; at < input.length;) {
        state = (state * 31 + (input[at] ?? 0)) % 65_521;
        const size = 1 + (state % 23);
        // A copy that nobody may rely on: sockets reuse their buffers.
        yield input.slice(at, at + size);
        at += size;
    }
}

/** A folder for sockets; it goes when the fuzzer ends. */
export function scratchFolder(): string {
    return process.env.FUZZ_SCRATCH ?? tmpdir();
}

/** For parts of the product that need a logger: keeps nothing. */
export const silentLogger: Logger = {
    debug: ignore,
    info: ignore,
    warn: ignore,
    error: ignore,
    child: () => silentLogger,
} as unknown as Logger; // a target uses no more of it

function ignore(): void {
    // Nothing is to be done.
}
