import { type IncomingMessage, type ServerResponse } from "node:http";

/** True for GET and HEAD. */
export function isRead({ method }: IncomingMessage): boolean {
    return method === "GET" || method === "HEAD";
}

/** Answers with 405 Method Not Allowed, and GET and HEAD as the allowed methods. */
export function refuseMethod(response: ServerResponse): void {
    response.setHeader("allow", "GET, HEAD");
    send(response, 405, "use GET\n");
}

/** Answers with a text and `Cache-Control: no-store`. Does nothing if the client has disconnected. */
export function send(response: ServerResponse, status: number, body: string, type = "text/plain; charset=utf-8"): void {
    if (response.destroyed) return;
    response.writeHead(status, {
        "content-type": type,
        "content-length": Buffer.byteLength(body),
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
    });
    // Node.js omits the body in the answer to HEAD.
    response.end(body);
}
