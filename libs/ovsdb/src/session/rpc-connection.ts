import { type Duplex } from "node:stream";
import { OvsdbError } from "../codec/error.ts";
import {
    decodeRpcMessage,
    encodeNotification,
    encodeRequest,
    encodeResponse,
    type RpcMessage,
} from "../codec/json-rpc.ts";
import { JsonSplitter } from "../codec/json-splitter.ts";
import { fromServerError } from "../codec/server-error.ts";
import { EchoProbe } from "./echo-probe.ts";
import { lost, PendingRequests, type RequestOptions } from "./pending-requests.ts";

/** Limits of a connection; see the options of the same names in `OvsdbSessionOptions`. */
export interface RpcConnectionLimits {
    readonly echoIntervalMs: number;
    readonly answerTimeoutMs: number;
    readonly maxMessageBytes: number;
    readonly maxQueuedBytes: number;
    readonly maxPendingRequests: number;
}

/** Callbacks of a connection, called synchronously. */
export interface RpcConnectionHandlers {
    /** Called in the order of the received messages. An error that it throws ends the connection. */
    readonly onNotification: (method: string, params: readonly unknown[]) => void;
    /** Called once when the connection ends, before anything pending rejects; must not throw, else nothing settles. */
    readonly onEnd: (reason: OvsdbError) => void;
}

/**
 * JSON-RPC 1.0 (RFC 7047 section 4) over one open stream: requests matched with answers, echo in both directions,
 * limits. Other requests of the server are answered with the error `unknown method`. Never reconnects. It owns the
 * stream and destroys it when the connection ends.
 */
export class RpcConnection {
    readonly #stream: Duplex;
    readonly #limits: RpcConnectionLimits;
    readonly #handlers: RpcConnectionHandlers;
    readonly #splitter: JsonSplitter;
    readonly #pending: PendingRequests;
    readonly #echo: EchoProbe;
    readonly #ended = Promise.withResolvers<OvsdbError>();
    #end: OvsdbError | undefined;
    #corked = false;

    constructor(stream: Duplex, limits: RpcConnectionLimits, handlers: RpcConnectionHandlers) {
        this.#stream = stream;
        this.#limits = limits;
        this.#handlers = handlers;
        this.#splitter = new JsonSplitter(limits.maxMessageBytes);
        this.#pending = new PendingRequests(limits.maxPendingRequests, (id) => {
            this.#write(encodeNotification("cancel", [id]));
        });
        this.#echo = new EchoProbe(limits, {
            send: () => this.#write(encodeRequest("echo", "echo", [])),
            fail: (error) => this.end(error),
        });
        stream.on("data", (chunk: Uint8Array) => this.#receive(chunk));
        stream.on("end", () => this.end(disconnected("the server closed the connection")));
        stream.on("error", (cause: unknown) => this.end(disconnected("the connection failed", cause)));
        stream.on("close", () => this.end(disconnected("the connection was closed")));
    }

    /** Resolves with the reason when the connection has ended; never rejects. */
    get ended(): Promise<OvsdbError> {
        return this.#ended.promise;
    }

    /**
     * Sends a request. `receive` decodes its result before any message that follows it is handled.
     *
     * @throws OvsdbError an error of `receive`, the server's error, or a session code: `DISCONNECTED`, `CLOSED`,
     *   `OUTCOME_UNKNOWN`, `TIMEOUT`, `ABORTED`, `QUEUE_FULL`; `BAD_ARGUMENT` for a request beyond `maxQueuedBytes`
     */
    async request<T>(
        method: string,
        params: readonly unknown[],
        receive: (result: unknown) => T,
        options: RequestOptions,
    ): Promise<T> {
        if (this.#end !== undefined) throw lost(method, this.#end);
        return this.#pending.add(method, receive, options, (id) => {
            const text = encodeRequest(id, method, params);
            this.#checkQueue(method, text);
            this.#write(text);
        });
    }

    /**
     * Ends the connection, destroys the stream and rejects pending requests: `OUTCOME_UNKNOWN` for those that may
     * change the database, else `DISCONNECTED`, or `CLOSED` if that is the code of the reason. Idempotent.
     */
    end(reason: OvsdbError): void {
        if (this.#end !== undefined) return;
        this.#end = reason;
        this.#echo.stop();
        this.#stream.destroy();
        this.#handlers.onEnd(reason);
        this.#pending.rejectAll(reason);
        this.#ended.resolve(reason);
    }

    #receive(chunk: Uint8Array): void {
        this.#echo.heard();
        try {
            for (const value of this.#splitter.push(chunk)) {
                this.#dispatch(decodeRpcMessage(value));
                if (this.#end !== undefined) return;
            }
        } catch (error) {
            if (error instanceof OvsdbError) this.end(error);
            else
                this.end(new OvsdbError("BAD_MESSAGE", "internal", "a message could not be handled", { cause: error }));
        }
    }

    #dispatch(message: RpcMessage): void {
        switch (message.kind) {
            case "request":
                this.#answer(message.id, message.method, message.params);
                return;
            case "notification":
                this.#handlers.onNotification(message.method, message.params);
                return;
            case "response":
                // An answer without a pending request is that of an echo, or of one that timed out or was cancelled.
                this.#pending.settle(message.id, (method) => {
                    if (message.error !== null) throw fromServerError(message.error, `request ${method}`);
                    return message.result;
                });
        }
    }

    #answer(id: unknown, method: string, params: readonly unknown[]): void {
        if (method === "echo") this.#write(encodeResponse(id, params));
        else this.#write(encodeResponse(id, null, "unknown method"));
        if (this.#stream.writableLength > this.#limits.maxQueuedBytes) {
            const message = "the server asks without reading the answers";
            this.end(new OvsdbError("QUEUE_FULL", "remote", message));
        }
    }

    #checkQueue(method: string, text: string): void {
        // At most three bytes for each UTF-16 unit: counting exactly would cost more than it saves.
        const [queued, max] = [this.#stream.writableLength, this.#limits.maxQueuedBytes];
        if (queued + text.length <= max) return;
        const details = { queuedBytes: queued, maxBytes: max };
        if (text.length > max) {
            const message = `request ${method} has ${text.length} bytes, more than the limit of ${max}: split it`;
            throw new OvsdbError("BAD_ARGUMENT", "caller", message, { details });
        }
        const message = `${queued} bytes wait for the server: request ${method} was not sent, ask again later`;
        throw new OvsdbError("QUEUE_FULL", "environment", message, { details });
    }

    /** Writes of one turn of the event loop are sent in one system call. */
    #write(text: string): void {
        if (this.#end !== undefined) return;
        if (!this.#corked) {
            this.#corked = true;
            this.#stream.cork();
            process.nextTick(() => {
                this.#corked = false;
                this.#stream.uncork();
            });
        }
        this.#stream.write(text);
    }
}

function disconnected(what: string, cause?: unknown): OvsdbError {
    return new OvsdbError("DISCONNECTED", "environment", `no connection to the database: ${what}`, { cause });
}
