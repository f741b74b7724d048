import { type IncomingMessage, type ServerResponse } from "node:http";

/** GET or HEAD. */
export function isRead({ method }: IncomingMessage): boolean {
    return method === "GET" || method === "HEAD";
}

/** 405. */
export function refuseMethod(response: ServerResponse): void {
    response.setHeader("allow", "GET, HEAD");
    send(response, 405, "use GET\n");
}

/** Answers with a text that no cache keeps; nothing when the client is gone. */
export function send(response: ServerResponse, status: number, body: string, type = "text/plain; charset=utf-8"): void {
    if (response.destroyed) return;
    response.writeHead(status, {
        "content-type": type,
        "content-length": Buffer.byteLength(body),
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
    });
    // Node.js leaves the body out of the answer to HEAD.
    response.end(body);
}
