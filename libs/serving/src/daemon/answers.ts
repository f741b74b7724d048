import { type IncomingMessage, type ServerResponse } from "node:http";

/** True for a request with GET or HEAD. */
export function isRead({ method }: IncomingMessage): boolean {
    return method === "GET" || method === "HEAD";
}

/** Answers with 405 Method Not Allowed and `Allow: GET, HEAD`, the only methods of the endpoints of a daemon. */
export function refuseMethod(response: ServerResponse): void {
    response.setHeader("allow", "GET, HEAD");
    send(response, 405, "use GET\n");
}

/**
 * Answers with a text, by default text/plain, and `Cache-Control: no-store`, and ends the response; headers set before
 * are kept. Does nothing if the client has disconnected. Throws the error of Node.js if headers have been sent.
 */
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
