import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decodeMessage, FrameSplitter, Writer, type Message } from "../../src/codec/index.ts";
import { BundleControl, writeBundleControl } from "../../src/codec/message/bundle.ts";
import { writeHello } from "../../src/codec/message/hello.ts";
import { OpenFlowConnection, type ConnectionLogger, type ConnectionOptions } from "../../src/connection/index.ts";
import { bytes } from "../fixtures.ts";

/** The remote end's handling of a message; true suppresses the default answer. */
export type Script = (message: Message, socket: Socket) => boolean;

/** The remote end of a connection, which answers as a switch does unless a script replaces the answer. */
export class Peer implements AsyncDisposable {
    readonly path: string;
    readonly received: Message[] = [];
    /** Time of each connection, in milliseconds of performance.now. */
    readonly connectedAt: number[] = [];
    readonly sockets = new Set<Socket>();
    script: Script = () => false;
    hello = true;
    readonly #folder: string;
    readonly #server: Server;

    private constructor(folder: string) {
        this.#folder = folder;
        this.path = join(folder, "br.mgmt");
        this.#server = createServer((socket) => this.#serve(socket));
    }

    static async start(): Promise<Peer> {
        const peer = new Peer(await mkdtemp(join(tmpdir(), "of-")));
        await peer.listen();
        return peer;
    }

    listen(): Promise<void> {
        return new Promise((resolve) => this.#server.listen(this.path, resolve));
    }

    connection(options: Partial<ConnectionOptions> = {}): OpenFlowConnection {
        return new OpenFlowConnection({ logger: silent }, { socketPath: this.path, minBackoffMs: 5, ...options });
    }

    types(): string[] {
        return this.received.map(({ type }) => type);
    }

    disconnect(): void {
        for (const socket of this.sockets) socket.destroy();
    }

    async [Symbol.asyncDispose](): Promise<void> {
        this.disconnect();
        await new Promise((resolve) => this.#server.close(resolve));
        await rm(this.#folder, { recursive: true, force: true });
    }

    #serve(socket: Socket): void {
        this.connectedAt.push(performance.now());
        this.sockets.add(socket);
        socket.on("close", () => this.sockets.delete(socket));
        socket.on("error", () => undefined);
        if (this.hello) {
            const writer = new Writer();
            writeHello(writer, 77);
            socket.write(writer.finish());
        }
        const splitter = new FrameSplitter();
        socket.on("data", (chunk: Buffer) => {
            for (const frame of splitter.push(chunk)) {
                const message = decodeMessage(frame);
                this.received.push(message);
                if (!this.script(message, socket)) socket.write(answer(message, frame));
            }
        });
    }
}

/** The default answer of a switch, none to most messages. */
function answer(message: Message, frame: Uint8Array): Uint8Array {
    const xid = frame.subarray(4, 8);
    if (message.type === "echo_request") return Uint8Array.from([6, 3, 0, frame.length, ...frame.subarray(4)]);
    if (message.type === "barrier_request") return Uint8Array.from([6, 21, 0, 8, ...xid]);
    if (message.type === "features_request") {
        return Uint8Array.from([6, 6, 0, 32, ...xid, 0, 0, 0, 0, 0, 0, 0, 42, ...new Uint8Array(16)]);
    }
    if (message.type !== "bundle_control") return new Uint8Array(0);
    const writer = new Writer();
    const { control } = message.control;
    writeBundleControl(writer, message.xid, {
        ...message.control,
        control: control === BundleControl.OPEN_REQUEST ? BundleControl.OPEN_REPLY : BundleControl.COMMIT_REPLY,
    });
    return writer.finish();
}

/** An error message about `xid`. */
export function errorFrame(xid: number, type: number, code: number): Uint8Array {
    return bytes(
        `0601000c${xid.toString(16).padStart(8, "0")}${type.toString(16).padStart(4, "0")}${code.toString(16).padStart(4, "0")}`,
    );
}

export const silent: ConnectionLogger = { debug: () => undefined, info: () => undefined, warn: () => undefined };

/** Resolves when `probe`, called on each turn of the event loop, returns true. */
export async function until(probe: () => boolean): Promise<void> {
    while (!probe()) await new Promise((resolve) => setImmediate(resolve));
}
