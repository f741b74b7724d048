import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { Answer, Order, Survey } from "./protocol.ts";

const runner = new URL("runner.ts", import.meta.url).pathname;
const limitOfLoadMs = 120_000;

export type Reply = Answer | Survey | { readonly kind: "ended"; readonly text: string } | { readonly kind: "late" };

/** A process of runner.ts. */
export class RunnerProcess {
    readonly #child: ChildProcess;
    readonly #loaded: Promise<Reply>;
    #errors = "";

    /** @param mutant - active from the beginning */
    constructor(planFile: string, mutant?: string) {
        this.#child = fork(runner, [planFile], {
            stdio: ["ignore", "ignore", "pipe", "ipc"],
            execArgv: ["--disable-warning=ExperimentalWarning", "--max-old-space-size=1500"],
            env: { ...process.env, ...(mutant === undefined ? {} : { __STRYKER_ACTIVE_MUTANT__: mutant }) },
        });
        this.#child.stderr?.on(
            "data",
            (chunk: Buffer) => void (this.#errors = (this.#errors + String(chunk)).slice(-2000)),
        );
        this.#loaded = this.#reply(limitOfLoadMs);
    }

    /** Waits until the tests are loaded, sends the order and waits for its answer up to the limit. */
    async ask(order: Order, limitMs: number): Promise<Reply> {
        const loaded = await this.#loaded;
        if (loaded.kind !== "loaded") return loaded;
        this.#child.send(order);
        return this.#reply(limitMs);
    }

    async end(): Promise<void> {
        if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
        const exit = once(this.#child, "exit");
        this.#child.kill("SIGKILL");
        await exit;
    }

    #reply(limitMs: number): Promise<Reply> {
        const { promise, resolve } = Promise.withResolvers<Reply>();
        const onMessage = (reply: Answer | Survey): void => resolve(reply);
        const onExit = (): void => resolve({ kind: "ended", text: this.#errors });
        const timer = setTimeout(() => resolve({ kind: "late" }), limitMs);
        this.#child.once("message", onMessage).once("exit", onExit);
        return promise.finally(() => {
            clearTimeout(timer);
            this.#child.off("message", onMessage).off("exit", onExit);
        });
    }
}
