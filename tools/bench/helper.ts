import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { BenchError } from "./error.ts";
import { within } from "./netns.ts";

interface Answer {
    readonly value?: unknown;
    readonly error?: string;
}

export interface HelperOptions {
    /** The network namespace of the process. Default: the current one. */
    readonly netnsPath?: string;
    /** Additional options of Node.js. */
    readonly nodeOptions?: readonly string[];
}

/** The client of `serveBench`: a script of this folder in a separate process that executes one command at a time. */
export class Helper implements AsyncDisposable {
    readonly #child: ChildProcess;

    constructor(script: string, { netnsPath, nodeOptions = [] }: HelperOptions = {}) {
        const node = [process.execPath, "--disable-warning=ExperimentalWarning", ...nodeOptions];
        const [execPath, execArgv] = within(netnsPath, node);
        this.#child = fork(new URL(script, import.meta.url), [], {
            execPath,
            execArgv: [...execArgv],
            stdio: ["ignore", "inherit", "inherit", "ipc"],
        });
    }

    async ask<T>(command: string, input?: unknown): Promise<T> {
        const ended = new AbortController();
        const onExit = (): void => ended.abort();
        this.#child.once("exit", onExit);
        try {
            this.#child.send({ command, input });
            const [answer] = (await once(this.#child, "message", { signal: ended.signal })) as [Answer];
            if (answer.error === undefined) return answer.value as T; // both ends are here
            throw new BenchError("CALL_FAILED", "environment", answer.error);
        } finally {
            this.#child.off("exit", onExit);
        }
    }

    async [Symbol.asyncDispose](): Promise<void> {
        if (this.#child.exitCode !== null) return;
        const ended = once(this.#child, "exit");
        this.#child.disconnect();
        await ended;
    }
}

/** Executes the commands of a `Helper`; the process ends when the helper disconnects. */
export function serveBench(commands: Readonly<Record<string, (input: never) => unknown>>): void {
    process.on("disconnect", () => process.exit(0));
    process.on("message", ({ command, input }: { command: string; input: never }) => {
        const work = async (): Promise<unknown> => commands[command]?.(input);
        work().then(
            (value) => process.send?.({ value }),
            (error: unknown) => process.send?.({ error: error instanceof Error ? error.stack : String(error) }),
        );
    });
}
