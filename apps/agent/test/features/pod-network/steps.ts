import { setImmediate as turn } from "node:timers/promises";
import { AntreaError, type Fault } from "@antrea/errors";
import { OpenFlowError } from "@antrea/openflow";

/** What goes wrong at one step: it is not done, or it is done and its answer is lost. */
export type Failure = "before" | "after";

/**
 * The calls that leave the program, in their order. Each takes a turn of the event loop before it is carried out and
 * one before it is answered, so that whoever forgets to wait is seen; each can fail, or never be answered.
 */
export class Steps {
    /** Names of the calls, as they were asked for. */
    readonly asked: string[] = [];
    /** Names of those that were carried out. */
    readonly done: string[] = [];
    /** Answers "how does this one fail" by its number and name. */
    failure: (at: number, name: string) => Failure | undefined = () => undefined;
    /** Names of calls that are not answered until their signal aborts. */
    readonly hanging = new Set<string>();
    /** By name of the call, what it waits for before it is carried out. */
    readonly waits = new Map<string, Promise<unknown>>();
    fault: Fault = "internal";

    async run<T>(name: string, work: () => T, signal?: AbortSignal): Promise<Awaited<T>> {
        const failure = this.#begin(name);
        await turn();
        await this.waits.get(name);
        if (this.hanging.has(name)) await forever(name, signal);
        if (signal?.aborted === true) throw cancelled(name, signal);
        if (failure === "before") throw this.#error(name);
        const result = await work();
        this.done.push(name);
        await turn();
        if (failure === "after")
            throw new OpenFlowError("REFUSED", this.fault, `${name} failed`, { details: { partial: true } });
        return result;
    }

    /** A call that blocks the program. */
    sync<T>(name: string, work: () => T): T {
        const failure = this.#begin(name);
        if (failure === "before") throw this.#error(name);
        const result = work();
        this.done.push(name);
        if (failure === "after") throw this.#error(name);
        return result;
    }

    /** No more failures; the lists begin anew. */
    clear(): void {
        this.asked.length = 0;
        this.done.length = 0;
        this.failure = () => undefined;
        this.hanging.clear();
        this.waits.clear();
    }

    #begin(name: string): Failure | undefined {
        this.asked.push(name);
        return this.failure(this.asked.length - 1, name);
    }

    #error(name: string): AntreaError<string, object> {
        return new AntreaError("STEP_FAILED", this.fault, `${name} failed`);
    }
}

async function forever(name: string, signal: AbortSignal | undefined): Promise<never> {
    return new Promise((_, reject) => {
        if (signal?.aborted === true) reject(cancelled(name, signal));
        signal?.addEventListener("abort", () => reject(cancelled(name, signal)), { once: true });
    });
}

function cancelled(name: string, signal: AbortSignal): AntreaError {
    return new AntreaError("ABORTED", "aborted", `${name} was cancelled`, { cause: signal.reason });
}
