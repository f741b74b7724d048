import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readSources } from "./input-files.ts";
import { type run } from "./run.ts";
import { outputColumns, writeText } from "./standard-streams.ts";

// Bytecode is compiled as a CommonJS module, which has no top-level `await`.
async function main(): Promise<void> {
    const commands = await loadCommands();
    const columns = outputColumns();
    process.exitCode = await commands.run(basename(process.argv0), process.argv.slice(2), {
        terminal: { isTty: columns !== undefined, columns, environment: process.env },
        writeOut: (text) => {
            // A reader that closes the pipe early (`| head`) is not an error.
            if (!writeText("output", text)) process.exit(0);
        },
        writeErr: (text) => void writeText("error", text),
        readSources,
        now: () => Date.now(),
        sleep: async (ms) => sleep(ms),
    });
}

/**
 * Loads the commands and with them the package `debug`, which a dependency of the Kubernetes client uses. It opens
 * Bun's stderr to detect a terminal; standard-streams.ts describes the consequence.
 */
async function loadCommands(): Promise<{ readonly run: typeof run }> {
    const before = process.env.DEBUG_COLORS;
    process.env.DEBUG_COLORS ??= "no";
    try {
        return await import("./run.ts");
    } finally {
        if (before === undefined) delete process.env.DEBUG_COLORS;
    }
}

void main();
