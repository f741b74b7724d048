import { connect } from "node:net";
import { decodeMessage, FrameSplitter, type Writer } from "../../src/codec/index.ts";
import { writeBare } from "../../src/codec/message/simple.ts";

const barrierXid = 9;

/**
 * Sends messages to a switch, the first of them a hello, and a barrier, and resolves with the names of its errors by the
 * xid of the message. They are written before it connects: ovs-vswitchd closes a connection without a hello after some seconds.
 */
export async function errorsOf(socketPath: string, messages: Writer): Promise<ReadonlyMap<number, string>> {
    writeBare(messages, "BARRIER_REQUEST", barrierXid);
    const errors = new Map<number, string>();
    const done = Promise.withResolvers<void>();
    const socket = connect(socketPath);
    const splitter = new FrameSplitter();
    socket.on("error", done.reject);
    socket.on("data", (chunk: Buffer) => {
        for (const frame of splitter.push(chunk)) {
            const message = decodeMessage(frame);
            if (message.type === "error") errors.set(message.xid, message.error.name);
            if (message.type === "barrier_reply") done.resolve();
        }
    });
    socket.write(messages.finish());
    await done.promise;
    socket.destroy();
    return errors;
}

/** Why the check refuses; undefined if it does not. */
export function refusalOf(check: () => void): string | undefined {
    try {
        check();
        return undefined;
    } catch (error) {
        return (error as Error).message;
    }
}
