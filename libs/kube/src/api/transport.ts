import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { KubeError, abortedError, throwIfAborted } from "../errors.ts";
import { type Connection } from "./credentials.ts";

/** One HTTP request to the API server. */
export interface HttpRequest {
    readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
    /** Path with the query. */
    readonly path: string;
    /** Undefined: no body. */
    readonly body?: string | undefined;
    /** Content-Type of `body`. Default: `application/json`. */
    readonly contentType?: string | undefined;
    /** Accept header. Default: `application/json`. */
    readonly accept?: string | undefined;
    readonly userAgent: string;
    /** Limit in milliseconds until the headers of the answer have arrived, the wait for a connection included. */
    readonly timeoutMs: number;
    readonly signal?: AbortSignal | undefined;
    /** True for a watch, which occupies its connection. */
    readonly stream?: boolean;
}

/** Head of an answer whose body is still to be read by iteration; IncomingMessage of Node.js is one. */
export interface HttpResponse extends AsyncIterable<Uint8Array> {
    readonly statusCode?: number | undefined;
    readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
    /** Whether the whole body arrived; valid at its end. */
    readonly complete: boolean;
    /** Closes the connection without reading the rest of the body. */
    destroy(): unknown;
}

/**
 * Sends one request and resolves with the head of the answer, of any status; the caller reads its body or destroys it.
 * Aborting the request's signal also ends the body. Rejects with KubeError as `send` does.
 */
export type Send = (connection: Connection, request: HttpRequest) => Promise<HttpResponse>;

/** Returns host (IPv6 without brackets) and port of a URL; the default port is 443, or 80 for http. */
export function socketAddress(server: URL): { readonly host: string; readonly port: number } {
    const defaultPort = server.protocol === "https:" ? 443 : 80;
    return {
        host: server.hostname.replace(/^\[|\]$/g, ""),
        port: server.port === "" ? defaultPort : Number(server.port),
    };
}

/**
 * Sends a request by HTTP/1.1 and resolves with the head of the answer, of any status; the caller reads its body or
 * destroys it. Rejects with KubeError TIMEOUT, CONNECTION_FAILED or ABORTED; `outcomeUnknown` is set for a write that
 * may have reached the server. Aborting the request's signal later ends the body.
 */
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

/**
 * Reads the whole body as UTF-8 text. Rejects with KubeError TOO_LARGE above `maxBytes`, TIMEOUT after `timeoutMs`,
 * CONNECTION_FAILED if it ends early, or ABORTED; the connection is closed then. The signal must be that of the
 * request, which ends the body: it only decides the error.
 *
 * @param what the request, for messages
 */
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
