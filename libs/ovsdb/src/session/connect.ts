import { createConnection, type Socket } from "node:net";
import { OvsdbError } from "../codec/error.ts";

/**
 * Connects to a unix socket. The caller owns the socket; an `error` event without another listener is ignored.
 *
 * @throws OvsdbError `DISCONNECTED`, `TIMEOUT` after `timeoutMs`, `CLOSED` when the signal aborts; then the socket is
 *   closed
 */
export function connect(socketPath: string, timeoutMs: number, signal: AbortSignal): Promise<Socket> {
    return new Promise((resolve, reject) => {
        if (signal.aborted) throw stopped(signal.reason);
        const socket = createConnection({ path: socketPath });
        // Stays: without it, an error before the caller adds a listener would end the process.
        socket.on("error", () => undefined);
        const fail = (error: OvsdbError): void => {
            release();
            socket.destroy();
            reject(error);
        };
        const onConnect = (): void => {
            release();
            resolve(socket);
        };
        const onError = (cause: Error): void => {
            const message = `cannot connect to the database at ${socketPath}`;
            fail(new OvsdbError("DISCONNECTED", "environment", message, { cause, details: { socketPath } }));
        };
        const onAbort = (): void => fail(stopped(signal.reason));
        const timer = setTimeout(() => {
            const message = `the database at ${socketPath} did not accept a connection within ${timeoutMs} ms`;
            fail(new OvsdbError("TIMEOUT", "timeout", message, { details: { socketPath } }));
        }, timeoutMs);
        const release = (): void => {
            clearTimeout(timer);
            socket.off("connect", onConnect).off("error", onError);
            signal.removeEventListener("abort", onAbort);
        };
        socket.once("connect", onConnect).once("error", onError);
        signal.addEventListener("abort", onAbort, { once: true });
    });
}

/**
 * Returns, without throwing it, the error `CLOSED` (fault `aborted`) of a session that was closed; `cause` is the
 * reason.
 */
export function stopped(cause?: unknown): OvsdbError {
    return new OvsdbError("CLOSED", "aborted", "the session with the database was closed", { cause });
}
