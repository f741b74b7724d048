import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { KubeError, abortedError, throwIfAborted } from "../errors.ts";
import { type Connection } from "./credentials.ts";

export interface HttpRequest {
    readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
    /** Path with query. */
    readonly path: string;
    readonly body?: string | undefined;
    readonly contentType?: string | undefined;
    /** The form of the answer. Default: JSON, whole objects. */
    readonly accept?: string | undefined;
    readonly userAgent: string;
    /** Until the headers of the answer are in; milliseconds. */
    readonly timeoutMs: number;
    readonly signal?: AbortSignal | undefined;
    /** Holds its connection for long: a watch. */
    readonly stream?: boolean;
}

/** The head of an answer, its body still to be read; an IncomingMessage of Node.js is one. */
export interface HttpResponse extends AsyncIterable<Uint8Array> {
    readonly statusCode?: number | undefined;
    readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
    /** Whether the whole body came; known at its end. */
    readonly complete: boolean;
    /** Ends the connection; the rest of the body is not wanted. */
    destroy(): unknown;
}

/** Sends one request; resolves with the head of the answer. The signal also ends the body. */
export type Send = (connection: Connection, request: HttpRequest) => Promise<HttpResponse>;

/** Where the server of a URL listens. */
export function socketAddress(server: URL): { readonly host: string; readonly port: number } {
    const defaultPort = server.protocol === "https:" ? 443 : 80;
    return {
        host: server.hostname.replace(/^\[|\]$/g, ""),
        port: server.port === "" ? defaultPort : Number(server.port),
    };
}

/** Sends a request by HTTP/1.1. */
export async function send(connection: Connection, request: HttpRequest): Promise<IncomingMessage> {
    const what = `${request.method} ${request.path}`;
    throwIfAborted(request.signal, what);
    const write = request.method !== "GET";
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const secure = connection.server.protocol === "https:";
    const { host, port } = socketAddress(connection.server);
    const base = connection.server.pathname.replace(/\/$/, "");
    const outgoing = (secure ? httpsRequest : httpRequest)({
        host,
        port,
        method: request.method,
        path: base + request.path,
        agent: request.stream === true ? connection.streamAgent : connection.agent,
        headers: {
            ...connection.headers,
            Accept: request.accept ?? "application/json",
            "User-Agent": request.userAgent,
            ...(request.body === undefined
                ? {}
                : {
                      "Content-Type": request.contentType ?? "application/json",
                      "Content-Length": Buffer.byteLength(request.body),
                  }),
        },
    });
    const timer = setTimeout(() => {
        outgoing.destroy(
            new KubeError("TIMEOUT", `${what}: no answer within ${request.timeoutMs} ms`, { outcomeUnknown: write }),
        );
    }, request.timeoutMs);
    const abort = (): void => {
        outgoing.destroy(abortedError(what, request.signal?.reason));
    };
    request.signal?.addEventListener("abort", abort, { once: true });
    outgoing.on("error", (cause) => {
        reject(
            cause instanceof KubeError
                ? cause
                : new KubeError("CONNECTION_FAILED", `${what}: no connection to ${connection.server.host}`, {
                      cause,
                      outcomeUnknown: write && !neverConnected(cause),
                  }),
        );
    });
    outgoing.on("close", () => request.signal?.removeEventListener("abort", abort));
    outgoing.on("response", resolve);
    outgoing.end(request.body);
    try {
        return await promise;
    } finally {
        clearTimeout(timer);
    }
}

/** Reads the whole body, up to `maxBytes`. */
export async function readBody(
    response: HttpResponse,
    what: string,
    o: { readonly maxBytes: number; readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
): Promise<string> {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    let timedOut = false;
    const timer = setTimeout(() => {
        timedOut = true;
        response.destroy();
    }, o.timeoutMs);
    try {
        for await (const chunk of response) {
            bytes += chunk.length;
            if (bytes > o.maxBytes) {
                response.destroy();
                throw new KubeError("TOO_LARGE", `${what}: the answer is longer than ${o.maxBytes} bytes`);
            }
            chunks.push(chunk);
        }
        if (!response.complete) throw new KubeError("CONNECTION_FAILED", `${what}: the answer ended too early`);
        return Buffer.concat(chunks).toString("utf8");
    } catch (cause) {
        if (o.signal?.aborted === true) throw abortedError(what, o.signal.reason);
        if (timedOut) throw new KubeError("TIMEOUT", `${what}: no whole answer within ${o.timeoutMs} ms`, { cause });
        if (cause instanceof KubeError) throw cause;
        throw new KubeError("CONNECTION_FAILED", `${what}: the connection broke within the answer`, { cause });
    } finally {
        clearTimeout(timer);
    }
}

// The request was not sent at all, so a write cannot have taken effect.
function neverConnected(error: unknown): boolean {
    const { code, syscall } = error as { readonly code?: unknown; readonly syscall?: unknown };
    return syscall === "connect" || code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "EAI_AGAIN";
}
