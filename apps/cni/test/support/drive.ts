import { connect } from "node:net";
import { type CallOutcome, type UnaryCall } from "../../src/http2/unary-call.ts";

export interface Driven {
    readonly outcome: CallOutcome;
    /** All bytes that the server sent, in order. */
    readonly received: Uint8Array;
}

/** Runs a call over a unix socket; rejects with what the call throws. */
export function drive(call: UnaryCall, socketPath: string): Promise<Driven> {
    return new Promise((resolve, reject) => {
        const chunks: Buffer[] = [];
        const socket = connect(socketPath);
        const finish = (): void => {
            if (call.outcome === undefined) return;
            socket.destroy();
            resolve({ outcome: call.outcome, received: Uint8Array.from(Buffer.concat(chunks)) });
        };
        socket.on("connect", () => socket.write(call.start()));
        socket.on("data", (chunk) => {
            chunks.push(chunk);
            try {
                const reply = call.receive(chunk);
                if (reply.length > 0) socket.write(reply);
            } catch (error) {
                socket.destroy();
                reject(error instanceof Error ? error : new Error(String(error)));
            }
            finish();
        });
        socket.on("close", () => {
            call.closed();
            finish();
        });
        socket.on("error", () => undefined);
    });
}
