import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decodeRpcMessage, JsonSplitter, type RpcMessage } from "../../src/codec/index.ts";

/** The server's end of one connection: received messages are read in order, and a test's text is sent unchanged. */
export class ScriptedConnection {
    readonly #socket: Socket;
    readonly #messages: RpcMessage[] = [];
    #wake: (() => void) | undefined;
    readonly closed: Promise<void>;

    constructor(socket: Socket) {
        this.#socket = socket;
        const splitter = new JsonSplitter(1 << 20);
        socket.on("data", (chunk: Buffer) => {
            for (const value of splitter.push(chunk)) this.#messages.push(decodeRpcMessage(value));
            this.#wake?.();
        });
        socket.on("error", () => undefined);
        this.closed = new Promise((resolve) => socket.once("close", () => resolve()));
    }

    /** The next message; fails the test when it is another one. */
    async next(method?: string): Promise<RpcMessage & { readonly id?: unknown; readonly params?: readonly unknown[] }> {
        while (this.#messages.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
        const message = this.#messages.shift() as RpcMessage;
        const found = message.kind === "response" ? "response" : message.method;
        if (method !== undefined && found !== method)
            throw new Error(`expected ${method}, got ${JSON.stringify(message)}`);
        return message;
    }

    /** Reads the next request and answers it. */
    async answer(method: string, result: unknown): Promise<readonly unknown[]> {
        const { id, params } = await this.next(method);
        this.send({ id, result, error: null });
        return params ?? [];
    }

    async refuse(method: string, error: unknown): Promise<void> {
        const { id } = await this.next(method);
        this.send({ id, error });
    }

    send(...messages: readonly unknown[]): void {
        this.#socket.write(
            messages.map((message) => (typeof message === "string" ? message : JSON.stringify(message))).join(""),
        );
    }

    drop(): void {
        this.#socket.destroy();
    }
}

/** A unix socket on which a test acts as the database server. */
export class ScriptedServer implements AsyncDisposable {
    readonly folder: string;
    readonly #server: Server;
    readonly #connections: ScriptedConnection[] = [];
    readonly #sockets = new Set<Socket>();
    #wake: (() => void) | undefined;

    private constructor(folder: string) {
        this.folder = folder;
        this.#server = createServer((socket) => {
            this.#sockets.add(socket);
            this.#connections.push(new ScriptedConnection(socket));
            this.#wake?.();
        });
    }

    static async start(): Promise<ScriptedServer> {
        const server = new ScriptedServer(await mkdtemp(join(tmpdir(), "scripted-")));
        await new Promise<void>((resolve) => server.#server.listen(server.socketPath, resolve));
        return server;
    }

    get socketPath(): string {
        return join(this.folder, "db.sock");
    }

    /** The next connection that was made. */
    async accept(): Promise<ScriptedConnection> {
        while (this.#connections.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
        return this.#connections.shift() as ScriptedConnection;
    }

    async [Symbol.asyncDispose](): Promise<void> {
        for (const socket of this.#sockets) socket.destroy();
        await new Promise((resolve) => this.#server.close(resolve));
        await rm(this.folder, { recursive: true, force: true });
    }
}

/** Records the log entries of a session. */
export function recordingLogger(): {
    readonly lines: { level: string; message: string; fields: unknown }[];
    debug(message: string, fields?: unknown): void;
    info(message: string, fields?: unknown): void;
    warn(message: string, fields?: unknown): void;
} {
    const lines: { level: string; message: string; fields: unknown }[] = [];
    const at = (level: string) => (message: string, fields?: unknown) => void lines.push({ level, message, fields });
    return { lines, debug: at("debug"), info: at("info"), warn: at("warn") };
}
