import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { BenchError } from "./error.ts";
import { within } from "./netns.ts";

interface Answer {
    readonly value?: unknown;
    readonly error?: string;
}

export interface HelperOptions {
    /** The network namespace that it runs in. Default: ours. */
    readonly netnsPath?: string;
    /** More options of Node.js. */
    readonly nodeOptions?: readonly string[];
}

/** The other end of `serveBench`: a script beside this one in a process of its own, asked one thing at a time. */
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

/** Answers the questions of a `Helper`; the process ends when it lets go. */
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
