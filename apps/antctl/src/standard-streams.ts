import { readFileSync, writeSync } from "node:fs";
import { isatty } from "node:tty";
import { isSystemError } from "@antrea/errors";

// Bun's stdin, stdout and stderr leave pipes non-blocking, and other programs in a script share them: `(antctl version;
// cat file) | less` would lose most of the file. So the file descriptors are used directly.
const standard = { input: 0, output: 1, error: 2 } as const;

const retryMs = 5;

/**
 * Writes all of the text as UTF-8 before it returns, and blocks while the pipe is full. False if the reader has closed
 * the pipe (EPIPE), which may have got a part. Throws any other system error.
 */
export function writeText(to: "output" | "error", text: string): boolean {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length;) {
        try {
            at += writeSync(standard[to], bytes, at);
        } catch (error) {
            if (isSystemError(error, "EPIPE")) return false;
            if (!isSystemError(error, "EAGAIN")) throw error;
            // Another writer made this pipe non-blocking, and it is full.
            Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs);
        }
    }
    return true;
}

/** Reads standard input to its end as UTF-8, and blocks until then. Throws the system error of read(2). */
export function readInput(): string {
    return readFileSync(standard.input, "utf8");
}

/** The width in characters of the terminal on standard output; undefined if it is not a terminal. */
export function outputColumns(): number | undefined {
    return isatty(standard.output) ? process.stdout.columns : undefined;
}
