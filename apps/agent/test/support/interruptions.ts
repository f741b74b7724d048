import { AntreaError } from "@antrea/errors";

/**
 * What happens to a call: it is not made; it is made and its answer is lost; or the agent is killed before it, or after
 * it, so that nobody ever gets an answer.
 */
export const interruptions = ["not made", "answer lost", "killed before", "killed after"] as const;

/** A call of a work: its name, and how many of that name come before it. The order of calls of different names is chance. */
export interface CallNumber {
    readonly name: string;
    readonly nth: number;
}

/** The numbers of these calls, in their order. */
export function numbered(calls: readonly string[]): readonly CallNumber[] {
    return calls.map((name, at) => ({ name, nth: calls.slice(0, at).filter((one) => one === name).length }));
}

/**
 * Interrupts one of the calls that go out to real parts of a Node. Only asynchronous methods count, which is what the calls to
 * the kernel, OVS and the API server are; that one is, is known once it was called.
 */
export class Interruptions {
    #calls: string[] | undefined;
    #target: CallNumber | undefined;
    #how: (typeof interruptions)[number] = "not made";
    #killed = Promise.withResolvers<void>();
    #interrupted: string | undefined;
    /** Names of calls that have returned promises. */
    readonly #asynchronous = new Set<string>();

    /** The name of the call that the last `during` interrupted; undefined if the work made fewer calls. */
    get interrupted(): string | undefined {
        return this.#interrupted;
    }

    /** The part with its calls counted under this name. */
    of<T extends object>(name: string, part: T): T {
        return new Proxy(part, {
            get: (target, key) => {
                const value: unknown = Reflect.get(target, key, target);
                if (typeof value !== "function") return value;
                return (...args: readonly unknown[]): unknown => {
                    const call = (): unknown => Reflect.apply(value, target, args);
                    if (typeof key === "symbol") return call();
                    const full = `${name}.${key}`;
                    if (this.#isTarget(full)) return this.#interrupt(full, call);
                    const result = call();
                    if (result instanceof Promise) {
                        this.#asynchronous.add(full);
                        this.#calls?.push(full);
                    }
                    return result;
                };
            },
        });
    }

    /** The names of the calls that the work makes, in their order. */
    async recorded(work: () => Promise<unknown>): Promise<readonly string[]> {
        const calls: string[] = [];
        this.#calls = calls;
        try {
            await work();
        } finally {
            this.#calls = undefined;
        }
        return calls;
    }

    /**
     * Does the work with this call interrupted; resolves with true if the agent was killed then, with false
     * when the work has ended otherwise, however that was.
     */
    async during(
        target: CallNumber,
        how: (typeof interruptions)[number],
        work: () => Promise<unknown>,
    ): Promise<boolean> {
        [this.#target, this.#how, this.#calls] = [target, how, []];
        this.#killed = Promise.withResolvers();
        this.#interrupted = undefined;
        const ended = work().then(
            () => false,
            () => false,
        );
        try {
            return await Promise.race([ended, this.#killed.promise.then(() => true)]);
        } finally {
            [this.#target, this.#calls] = [undefined, undefined];
        }
    }

    #isTarget(full: string): boolean {
        const { name, nth } = this.#target ?? { name: "", nth: 0 };
        const before = (): number => (this.#calls ?? []).filter((one) => one === full).length;
        return full === name && this.#asynchronous.has(full) && before() === nth;
    }

    async #interrupt(name: string, call: () => unknown): Promise<unknown> {
        this.#calls?.push(name);
        this.#interrupted = name;
        const how = this.#how;
        if (how === "answer lost" || how === "killed after") await call();
        if (how === "not made" || how === "answer lost") {
            throw new AntreaError("INTERRUPTED", "environment", `${name}: ${how}`);
        }
        this.#killed.resolve();
        return new Promise(() => undefined);
    }
}
