import { createServer, type RequestListener, type Server } from "node:http";
import { type AddressInfo, type Socket } from "node:net";
import { type Logger } from "@antrea/runtime";
import { ConnectionLimit } from "../https/connection-limit.ts";

/** Dependencies of HttpServer: what answers its requests, and its logger. */
export interface HttpComponents {
    readonly logger: Pick<Logger, "error">;
    /** Answers every request; an exception of it is uncaught. */
    readonly answer: RequestListener;
}

/** Options of HttpServer: its limits. */
export interface HttpOptions {
    /** False: the connection is closed. Default: all connections are accepted. */
    readonly admits?: (socket: Socket) => boolean;
    /** Limit of connections; more are closed at once. Default none. */
    readonly maxConnections?: number;
    /** Limit of connections from one address; more are closed at once. Default none. */
    readonly maxConnectionsPerAddress?: number;
}

/** Where an HttpServer listens: on a port (0 takes any free one), or at the path of a Unix socket. */
export type HttpPlace = { readonly port: number; readonly host?: string } | { readonly path: string };

/**
 * A plain HTTP server for answers that need no secrecy, with limits (headers within 5 s and 16 KiB, a request within 10 s,
 * idle connections end after 30 s). It listens from `start` to `stop`, once.
 */
export class HttpServer {
    readonly #server: Server;
    readonly #logger: HttpComponents["logger"];
    readonly #sockets = new Set<Socket>();

    constructor({ answer, logger }: HttpComponents, options: HttpOptions = {}) {
        this.#logger = logger;
        const { admits = () => true, maxConnections, maxConnectionsPerAddress } = options;
        const limit =
            maxConnectionsPerAddress === undefined ? undefined : new ConnectionLimit(maxConnectionsPerAddress);
        this.#server = createServer({ maxHeaderSize: 16_384, keepAliveTimeout: 30_000 }, answer);
        this.#server.headersTimeout = 5_000;
        this.#server.requestTimeout = 10_000;
        if (maxConnections !== undefined) this.#server.maxConnections = maxConnections;
        this.#server.on("connection", (socket: Socket) => {
            if (!admits(socket)) return void socket.destroy();
            if (limit?.admit(socket) === false) return;
            this.#sockets.add(socket);
            socket.once("close", () => this.#sockets.delete(socket));
        });
    }

    /** The port on which it listens; only after `start` with a port. */
    get port(): number {
        return (this.#server.address() as AddressInfo).port;
    }

    /** Resolves when it listens; without `host` on all addresses of both families. Rejects with the system error. */
    async start(place: HttpPlace): Promise<void> {
        await new Promise<void>((resolve, reject) => {
            this.#server.once("error", reject);
            this.#server.listen(place, () => {
                this.#server.off("error", reject);
                resolve();
            });
        });
        this.#server.on("error", (error) => this.#logger.error("the HTTP server failed", { place, error }));
    }

    /**
     * Closes the listener and all connections, also those with a request. Never rejects; may be called without a start.
     */
    async stop(): Promise<void> {
        const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
        for (const socket of this.#sockets) socket.destroy();
        await closed;
    }
}
