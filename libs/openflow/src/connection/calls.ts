import { OpenFlowError, type OpenFlowErrorDetails } from "../codec/errors.ts";
import { type ErrorMessage } from "../codec/message/error.ts";
import { type Message } from "../codec/message/decode.ts";
import { type CallOptions } from "./types.ts";

/**
 * What a message means for the call that waits for it: `wait` for more messages, `done` with the call's value, or
 * `fail`.
 */
export type Answer<T> =
    | { readonly kind: "wait" }
    | { readonly kind: "done"; readonly value: T }
    | { readonly kind: "fail"; readonly error: OpenFlowError };

/**
 * A request: `what` names it in errors, `firstXid` to `lastXid` are its xids, `answer` interprets each message that
 * carries one of them (`frameBytes`: length of the message in bytes).
 */
export interface CallSpec<T> {
    readonly what: string;
    readonly firstXid: number;
    readonly lastXid: number;
    readonly answer: (message: Message, frameBytes: number) => Answer<T>;
}

/** The call of a request with one xid; fails with `REFUSED` if the switch answers with an error, else as `read` returns. */
export function singleCall<T>(what: string, xid: number, read: (message: Message) => Answer<T>): CallSpec<T> {
    return {
        what,
        firstXid: xid,
        lastXid: xid,
        answer: (message) =>
            message.type === "error" ? { kind: "fail", error: refused(what, message.error) } : read(message),
    };
}

interface Call {
    readonly firstXid: number;
    readonly lastXid: number;
    readonly answer: (message: Message, frameBytes: number) => void;
    readonly fail: (error: OpenFlowError) => void;
}

/**
 * The requests of one connection that wait for an answer, found by xid. They have time limits and signals; the
 * connection gives received messages to `dispatch` and its end to `failAll`.
 */
export class Calls {
    // By last xid, which answers carry; only errors carry another xid of a call.
    readonly #calls = new Map<number, Call>();

    /** The number of pending calls. */
    get size(): number {
        return this.#calls.size;
    }

    /**
     * Registers the call, runs `send` at once and resolves with the value of its answer. Rejects with `OpenFlowError`
     * `TIMEOUT` after `timeoutMs`, `ABORTED` (`send` is not run if the signal was aborted before), the error of
     * `spec.answer`, that of `fail` or `failAll`, or what `send` throws.
     */
    add<T>(spec: CallSpec<T>, options: CallOptions & { readonly timeoutMs: number }, send: () => void): Promise<T> {
        return new Promise<T>((resolve, reject) => {
            const { signal, timeoutMs } = options;
            if (signal?.aborted === true) return reject(aborted(spec.what, signal.reason));
            const finish = (): void => {
                clearTimeout(timer);
                signal?.removeEventListener("abort", onAbort);
                this.#calls.delete(spec.lastXid);
            };
            const fail = (error: OpenFlowError): void => {
                finish();
                reject(error);
            };
            const onAbort = (): void => fail(aborted(spec.what, signal?.reason));
            const timer = setTimeout(() => {
                const message = `${spec.what}: no answer within ${timeoutMs} ms; whether it took effect is not known`;
                fail(new OpenFlowError("TIMEOUT", "timeout", message));
            }, timeoutMs);
            signal?.addEventListener("abort", onAbort, { once: true });
            this.#calls.set(spec.lastXid, {
                firstXid: spec.firstXid,
                lastXid: spec.lastXid,
                fail,
                answer: (message, frameBytes) => {
                    const outcome = spec.answer(message, frameBytes);
                    if (outcome.kind === "fail") return fail(outcome.error);
                    if (outcome.kind === "wait") return;
                    finish();
                    resolve(outcome.value);
                },
            });
            try {
                send();
            } catch (error) {
                finish();
                reject(error as Error);
            }
        });
    }

    /** Passes a message to the call with its xid; false when there is none. */
    dispatch(message: Message, frameBytes: number): boolean {
        const call = this.#find(message.xid);
        call?.answer(message, frameBytes);
        return call !== undefined;
    }

    /** Rejects the call with this xid; false when there is none. */
    fail(xid: number, error: OpenFlowError): boolean {
        const call = this.#find(xid);
        call?.fail(error);
        return call !== undefined;
    }

    /** Rejects all calls, each with the error that `error` returns for its last xid. */
    failAll(error: (call: number) => OpenFlowError): void {
        for (const call of [...this.#calls.values()]) call.fail(error(call.lastXid));
    }

    #find(xid: number): Call | undefined {
        const direct = this.#calls.get(xid);
        if (direct !== undefined) return direct;
        for (const call of this.#calls.values()) if (xid >= call.firstXid && xid <= call.lastXid) return call;
        return undefined;
    }
}

/**
 * Returns, without throwing it, the error `ABORTED` of a call that the caller's signal, or `close`, ended; `what` names
 * the call, `cause` is the reason.
 */
export function aborted(what: string, cause: unknown): OpenFlowError {
    return new OpenFlowError("ABORTED", "aborted", `${what}: cancelled`, { cause });
}

/**
 * Returns, without throwing it, the error `REFUSED` of a request that the switch answered with an error; `what` names
 * the request, `details` are added to the switch's type, code and name.
 */
export function refused(
    what: string,
    error: ErrorMessage,
    details: Readonly<Partial<OpenFlowErrorDetails>> = {},
): OpenFlowError {
    return new OpenFlowError("REFUSED", "caller", `${what}: the switch refused it with ${error.name}`, {
        details: { errorType: error.errorType, errorCode: error.errorCode, errorName: error.name, ...details },
    });
}
