import { connect, type Socket } from "node:net";
import { isErrorOf } from "@antrea/errors";
import { OpenFlowError } from "../codec/errors.ts";
import { writeHello } from "../codec/message/hello.ts";
import {
    type Features,
    writeBare,
    writeSetConfig,
    writeSetControllerId,
    writeSetPacketInFormat,
} from "../codec/message/simple.ts";
import { wireVersion } from "../codec/wire/header.ts";
import { Writer } from "../codec/wire/writer.ts";
import { aborted, singleCall, type CallSpec } from "./calls.ts";
import { disconnected, Link, type LinkComponents } from "./link.ts";
import { type ResolvedOptions } from "./types.ts";

const wholePacket = 0xffff;

/**
 * Connects to the unix socket, agrees on OpenFlow 1.5, requests packet-ins and starts the echo requests. The caller
 * ends the link with `destroy`. Rejects with `OpenFlowError`, after closing the socket: `NOT_CONNECTED`, `NEGOTIATION`,
 * `REFUSED`, `DISCONNECTED`, a code of the codec for an answer that cannot be read, `ABORTED` when the signal aborts, or
 * `TIMEOUT` when `handshakeTimeoutMs` have passed and the switch has not answered (`NOT_CONNECTED` while connecting).
 */
export async function openLink(
    components: LinkComponents,
    options: ResolvedOptions,
    signal: AbortSignal,
): Promise<Link> {
    const began = performance.now();
    const deadline = AbortSignal.timeout(options.handshakeTimeoutMs);
    let socket: Socket;
    try {
        socket = await connectSocket(options.socketPath, AbortSignal.any([signal, deadline]));
    } catch (cause) {
        if (signal.aborted) throw aborted("connecting", signal.reason);
        throw new OpenFlowError(
            "NOT_CONNECTED",
            "environment",
            `no connection to ${options.socketPath}; is ovs-vswitchd up?`,
            {
                cause,
            },
        );
    }
    const link = new Link(components, options, socket);
    const { handshakeTimeoutMs } = options;
    const ask: Ask = async (spec, bytes) => {
        const leftMs = handshakeTimeoutMs - (performance.now() - began);
        try {
            return await link.call(spec, { signal, timeoutMs: Math.max(1, Math.ceil(leftMs)) }, bytes);
        } catch (cause) {
            if (!isErrorOf(OpenFlowError, cause, "TIMEOUT")) throw cause;
            // Its message has the rest of the time, which is no setting.
            const message = `handshake: no answer to the ${spec.what} within ${handshakeTimeoutMs} ms`;
            throw new OpenFlowError("TIMEOUT", "timeout", message, { cause });
        }
    };
    try {
        link.datapathId = (await negotiate(link, options, ask)).datapathId;
        link.watch();
        return link;
    } catch (error) {
        const reason =
            link.reason ?? (error instanceof OpenFlowError ? error : disconnected("handshake failed", error));
        link.destroy(reason);
        throw reason;
    }
}

function connectSocket(path: string, signal: AbortSignal): Promise<Socket> {
    return new Promise((resolve, reject) => {
        const socket = connect({ path });
        const onAbort = (): void => {
            socket.destroy();
            reject(disconnected("connecting was given up", signal.reason));
        };
        if (signal.aborted) return onAbort();
        signal.addEventListener("abort", onAbort, { once: true });
        socket.once("error", (error) => {
            signal.removeEventListener("abort", onAbort);
            reject(error);
        });
        socket.once("connect", () => {
            signal.removeEventListener("abort", onAbort);
            resolve(socket);
        });
    });
}

/** Sends a request and resolves with its answer, within what is left of the time of the handshake. */
type Ask = <T>(spec: CallSpec<T>, bytes: Uint8Array) => Promise<T>;

async function negotiate(link: Link, options: ResolvedOptions, ask: Ask): Promise<Features> {
    const hello = new Writer(16);
    writeHello(hello, link.helloXid);
    await ask(helloSpec(link.helloXid), hello.finish());

    const xid = link.nextXid();
    const writer = new Writer();
    writeSetPacketInFormat(writer, link.nextXid());
    if (options.controllerId !== 0) writeSetControllerId(writer, link.nextXid(), options.controllerId);
    // ovs-vswitchd sends packet-ins on a service connection only when this is not 0.
    writeSetConfig(writer, link.nextXid(), wholePacket);
    writeBare(writer, "FEATURES_REQUEST", xid);
    return ask(featuresSpec(xid), writer.finish());
}

/** Accepts a hello that offers wire version 6. */
function helloSpec(xid: number): CallSpec<void> {
    return {
        what: "hello",
        firstXid: xid,
        lastXid: xid,
        answer: (message) => {
            if (message.type === "error") return { kind: "fail", error: negotiation(message.error.name) };
            if (message.type !== "hello") return { kind: "wait" };
            if (message.versions.includes(wireVersion)) return { kind: "done", value: undefined };
            return { kind: "fail", error: negotiation(`it offers wire versions ${message.versions.join(", ")}`) };
        },
    };
}

function negotiation(why: string): OpenFlowError {
    const message = `the switch does not speak OpenFlow 1.5 (${why}); add OpenFlow15 to the bridge's protocols`;
    return new OpenFlowError("NEGOTIATION", "environment", message);
}

function featuresSpec(xid: number): CallSpec<Features> {
    return singleCall("features request", xid, (message) =>
        message.type === "features_reply" ? { kind: "done", value: message.features } : { kind: "wait" },
    );
}
