import { orAborted } from "@antrea/async";
import { OpenFlowError } from "../codec/errors.ts";
import { aborted } from "./calls.ts";
import { type CallOptions } from "./types.ts";

/**
 * Makes callers wait, in the order of their calls, until there is a value for them: shut at first, `open` and `shut`
 * any number of times, then `end`.
 */
export class Gate<T> {
    readonly #waiters = new Set<PromiseWithResolvers<T>>();
    #value: T | undefined;
    #ended: OpenFlowError | undefined;

    /** The value while the gate is open. */
    get value(): T | undefined {
        return this.#value;
    }

    /** Resolves all waiting callers, and later ones, with this value. */
    open(value: T): void {
        this.#value = value;
        for (const waiter of this.#waiters) waiter.resolve(value);
    }

    /** Makes later callers wait. */
    shut(): void {
        this.#value = undefined;
    }

    /** Rejects all waiting callers, and later ones, with this error. */
    end(error: OpenFlowError): void {
        this.#value = undefined;
        this.#ended = error;
        for (const waiter of this.#waiters) waiter.reject(error);
    }

    /**
     * The value, at once or when the gate opens. Rejects with `OpenFlowError` `NOT_CONNECTED` after `timeoutMs`,
     * `ABORTED`, or the error of `end`.
     */
    async pass(options: CallOptions & { readonly timeoutMs: number }): Promise<T> {
        const { signal, timeoutMs } = options;
        if (signal?.aborted === true) throw aborted("waiting for the connection", signal.reason);
        if (this.#value !== undefined) return this.#value;
        if (this.#ended !== undefined) throw this.#ended;
        const waiter = Promise.withResolvers<T>();
        const timer = setTimeout(() => {
            const message = `not connected to the switch within ${timeoutMs} ms; nothing was sent`;
            waiter.reject(new OpenFlowError("NOT_CONNECTED", "environment", message));
        }, timeoutMs);
        this.#waiters.add(waiter);
        try {
            return await orAborted(waiter.promise, signal, () => aborted("waiting for the connection", signal?.reason));
        } finally {
            clearTimeout(timer);
            this.#waiters.delete(waiter);
        }
    }
}
