import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Logger } from "@antrea/runtime";

/** The text of a file of the repository; the fuzzer runs at its root. */
export function fileText(path: string): string {
    return readFileSync(join(process.cwd(), path), "utf8");
}

/** Decodes hexadecimal text. */
export function fromHex(hex: string): Uint8Array {
    return Uint8Array.from(Buffer.from(hex, "hex"));
}

/** Indented JSON of an API object, for readers and for the mutator. */
export function json(value: unknown): string {
    return JSON.stringify(value);
}

/** Parses a JSON input; undefined if it is invalid, which the API server would not forward. */
export function parsed(input: Uint8Array): unknown {
    try {
        return JSON.parse(new TextDecoder().decode(input)) as unknown;
    } catch {
        return undefined;
    }
}

/** Whether the value is an object and not an array. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a JSON value has more levels than `levels`; what a target writes itself must not overflow its stack. */
export function hasMoreLevels(value: unknown, levels = 100): boolean {
    if (typeof value !== "object" || value === null) return false;
    return levels === 0 || Object.values(value).some((one: unknown) => hasMoreLevels(one, levels - 1));
}

/** Splits the input into chunks whose sizes depend on its bytes: the same input is always split in the same way. */
export function* chunks(input: Uint8Array): Generator<Uint8Array> {
    let state = input.length;
    for (let at = 0; at < input.length;) {
        state = (state * 31 + (input[at] ?? 0)) % 65_521;
        const size = 1 + (state % 23);
        // A copy, as sockets reuse their buffers.
        yield input.slice(at, at + size);
        at += size;
    }
}

/** A folder for sockets; removed when the fuzzer ends. */
export function scratchFolder(): string {
    return process.env.FUZZ_SCRATCH ?? tmpdir();
}

/** A logger that discards everything, for parts of the product that need one. */
export const silentLogger: Logger = {
    debug: ignore,
    info: ignore,
    warn: ignore,
    error: ignore,
    child: () => silentLogger,
} as unknown as Logger; // a target uses no other method

function ignore(): void {
    // No action needed.
}
