import { isSystemError, messageOf } from "@antrea/errors";
import { type BunApi, type BunSocket } from "./bun.ts";
import { concat } from "./http2/frame.ts";
import { GrpcStatus } from "./http2/grpc-status.ts";
import { type CallOutcome, UnaryCall } from "./http2/unary-call.ts";

/**
 * From the first connection attempt to the server's SETTINGS. The call itself has no deadline here: the runtime and
 * the agent have theirs.
 */
const establishTimeoutMs = 20_000;

/**
 * Calls the gRPC method `path` ("/package.Service/Method") of the agent once, on a new connection to the unix socket,
 * and closes it. Connects immediately, while the message is still being read. If the agent cannot be reached, is no
 * HTTP/2 server within 20 s, or closes the connection, the outcome has status UNAVAILABLE; the answer itself has no
 * time limit. Rejects only if `message` does, or with `Http2Error`.
 */
export async function callAgent(
    bun: Pick<BunApi, "connect">,
    socketPath: string,
    path: string,
    message: Promise<Uint8Array>,
): Promise<CallOutcome> {
    const { promise, resolve, reject } = Promise.withResolvers<CallOutcome>();
    const early: Uint8Array[] = [];
    let unsent: Uint8Array = new Uint8Array();
    let call: UnaryCall | undefined;
    let lost: string | undefined;

    const unavailable = (text: string): void => {
        lost ??= text;
        resolve({ kind: "status", status: GrpcStatus.UNAVAILABLE, text });
    };
    const send = (socket: BunSocket, bytes: Uint8Array): void => {
        if (unsent.length > 0 && bytes.length > 0) {
            unsent = concat([unsent, bytes]);
            return;
        }
        const rest = unsent.length > 0 ? unsent : bytes;
        // A negative count means that the socket is closed; the close event follows.
        unsent = rest.length === 0 ? rest : rest.slice(Math.max(socket.write(rest), 0));
    };
    const receive = (socket: BunSocket, bytes: Uint8Array): void => {
        if (call === undefined) {
            early.push(bytes.slice());
            return;
        }
        try {
            send(socket, call.receive(bytes));
        } catch (error) {
            reject(error);
        }
        if (call.outcome !== undefined) resolve(call.outcome);
    };

    const timer = setTimeout(() => {
        if (call?.established === true || early.length > 0) return;
        unavailable(`no HTTP/2 server answered on ${socketPath} within ${establishTimeoutMs / 1000} s`);
    }, establishTimeoutMs);
    const connecting = bun.connect({
        unix: socketPath,
        socket: {
            data: receive,
            drain: (socket) => {
                send(socket, new Uint8Array());
            },
            close: () => {
                unavailable("the connection was closed before the answer came");
            },
            error: (_socket, error) => {
                unavailable(`the connection to ${socketPath} failed: ${messageOf(error)}`);
            },
            // `connect` rejects with the same error.
            connectError: () => undefined,
        },
    });
    let socket: BunSocket | undefined;
    try {
        const bytes = await message;
        try {
            socket = await connecting;
        } catch (error) {
            unavailable(connectFault(socketPath, error));
        }
        if (socket !== undefined && lost === undefined) {
            call = new UnaryCall({ path, message: bytes });
            send(socket, call.start());
            for (const chunk of early) receive(socket, chunk);
        }
        return await promise;
    } finally {
        clearTimeout(timer);
        socket?.terminate();
    }
}

function connectFault(socketPath: string, error: unknown): string {
    if (isSystemError(error, "ENOENT")) return `there is no socket ${socketPath}`;
    if (isSystemError(error, "ECONNREFUSED")) return `no process listens on ${socketPath}`;
    const code = isSystemError(error) ? error.code : undefined;
    return `connecting to ${socketPath} failed: ${messageOf(error)} (${String(code)})`;
}
