import { type RequestListener } from "node:http";
import { createServer, type Server, type ServerOptions } from "node:https";
import { type AddressInfo, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { type SecureVersion } from "node:tls";
import { abortedError, type Clock, sleep, systemClock } from "@antrea/async";
import { isSystemError } from "@antrea/errors";
import { type Logger } from "@antrea/runtime";
import { type Certificate, createSelfSigned } from "../certificates/certificate.ts";
import { ServingError } from "../errors.ts";
import { ConnectionLimit } from "./connection-limit.ts";

/** Dependencies of HttpsServer: what answers its requests, logger and clock. */
export interface HttpsComponents {
    readonly logger: Logger;
    /** Answers every request; an exception of it is uncaught. */
    readonly answer: RequestListener;
    /** Default: `systemClock`. */
    readonly clock?: Clock;
}

/** Options of HttpsServer: its port, certificate, TLS parameters and limits. */
export interface HttpsOptions {
    /** Common name of the self-signed certificate and one of its DNS names, e.g. `antrea-agent`. */
    readonly name: string;
    /** Port to listen on; 0 takes any free one, see `port` of the server. */
    readonly port: number;
    /** Address to listen on. Default: all addresses of both families. */
    readonly host?: string;
    /**
     * If true, a port in use is not a failure: `start` resolves, and the port is bound as soon as it is free. During an
     * update, the earlier process of the program holds the port and ends only when this one is ready.
     */
    readonly waitsForPort?: boolean;
    /**
     * Serving certificate. Default: a self-signed one, valid for a year and renewed 30 days before its end; see `show`.
     */
    readonly certificate?: Certificate;
    /** OpenSSL cipher names separated by colons. Default: that of Node.js. */
    readonly ciphers?: string;
    /** Default TLSv1.2. */
    readonly minVersion?: SecureVersion;
    /** Limit of connections; more are closed at once. Default 100, as requests are few and short. */
    readonly maxConnections?: number;
    /**
     * Limit of connections from one address; more are closed at once, so that one client cannot lock out others.
     * Default 25.
     */
    readonly maxConnectionsPerAddress?: number;
    /** Longest idle time of a connection in milliseconds. Default 30,000. */
    readonly keepAliveMs?: number;
}

const dayMs = 86_400_000;
const validDays = 365;
const renewDays = 30;
/** Milliseconds between tries to bind a port in use, and the number of tries per log line (one a minute). */
const portPauseMs = 250;
const logEachTry = 240;

/**
 * An HTTPS server with limits on connections and requests (headers within 5 s and 16 KiB, a request within 10 s), which
 * can replace its certificate and end without losing a request. It listens from `start` to `stop`; for an end without
 * losses `drain` comes before.
 */
export class HttpsServer {
    readonly #components: HttpsComponents;
    readonly #options: HttpsOptions;
    readonly #clock: Clock;
    // All sockets: those in the TLS handshake are not among the HTTP server's own.
    readonly #sockets = new Set<Socket>();
    #server: Server | undefined;
    // Ends the wait for a port in use; `#waiting` settles when that has ended.
    #giveUp = new AbortController();
    #waiting: Promise<void> | undefined;
    #renewal: Disposable | undefined;
    #certificate: Certificate | undefined;
    // Whether the certificate is self-signed by this server.
    #own: boolean;
    #leaving = false;
    // Number of requests without an answer, and the callback for when there are none.
    #underWay = 0;
    #quiet: () => void = () => undefined;

    constructor(components: HttpsComponents, options: HttpsOptions) {
        this.#components = components;
        this.#options = options;
        this.#certificate = options.certificate;
        this.#own = options.certificate === undefined;
        this.#clock = components.clock ?? systemClock;
    }

    /** The port on which it listens. Throws ServingError `WRONG_STATE` while it does not. */
    get port(): number {
        const address = this.#server?.address() as AddressInfo | null | undefined;
        if (!address) throw new ServingError("WRONG_STATE", "internal", "the server does not listen");
        return address.port;
    }

    /**
     * The current serving certificate (PEM); undefined before the start unless one was given, by the options or `show`.
     */
    get certificate(): string | undefined {
        return this.#certificate?.cert;
    }

    /**
     * Resolves when it listens (except with `waitsForPort`). Rejects with the system error, e.g. EADDRINUSE, with
     * ServingError `WRONG_STATE` if it is started already, or with AsyncError `ABORTED` if the signal is aborted
     * before; later the signal has no effect.
     */
    async start(signal?: AbortSignal): Promise<void> {
        if (this.#server !== undefined) {
            throw new ServingError("WRONG_STATE", "internal", "the server is started twice");
        }
        if (signal?.aborted) throw abortedError("the start of the server", signal);
        this.#leaving = false;
        const server = createServer(this.#secure(), (request, response) => {
            this.#underWay += 1;
            response.once("close", () => {
                this.#underWay -= 1;
                if (this.#underWay === 0) this.#quiet();
            });
            if (this.#leaving) response.setHeader("connection", "close");
            this.#components.answer(request, response);
        });
        // Anyone may connect.
        server.maxConnections = this.#options.maxConnections ?? 100;
        server.headersTimeout = 5000;
        server.requestTimeout = 10_000;
        server.keepAliveTimeout = this.#options.keepAliveMs ?? 30_000;
        const limit = new ConnectionLimit(this.#options.maxConnectionsPerAddress ?? 25);
        server.on("connection", (socket: Socket) => {
            if (!limit.admit(socket)) return;
            this.#sockets.add(socket);
            socket.once("close", () => this.#sockets.delete(socket));
        });
        server.on("tlsClientError", (error) => this.#components.logger.debug("TLS handshake failed", { error }));
        this.#server = server;
        this.#giveUp = new AbortController();
        try {
            await this.#listen(server);
        } catch (error) {
            await this.stop();
            throw error;
        }
        if (this.#own) this.#renewLater();
    }

    /**
     * Uses this certificate for new connections from now on, before or after the start; ends the renewal of a
     * self-signed one.
     */
    show(certificate: Certificate): void {
        this.#renewal?.[Symbol.dispose]();
        this.#own = false;
        this.#certificate = certificate;
        this.#server?.setSecureContext(this.#secure());
    }

    /**
     * Ends without losing a request. For `leaveMs` milliseconds it still answers, and closes each connection after its
     * next answer, so that clients move to another replica. Then it accepts no connections and resolves when all
     * requests are answered, or after `limitMs` more milliseconds. It ends a wait for the port. `stop` is still to be
     * called.
     */
    async drain(o: { readonly leaveMs: number; readonly limitMs: number }): Promise<void> {
        this.#leaving = true;
        this.#giveUp.abort();
        await sleep(o.leaveMs, undefined, this.#clock);
        await this.#waiting;
        // A busy process reads only now what came meanwhile, and `close` ends connections on which nothing was read.
        await setImmediate();
        this.#server?.close();
        if (this.#underWay === 0) return;
        const drained = Promise.withResolvers<void>();
        this.#quiet = drained.resolve;
        using _limit = this.#clock.after(o.limitMs, drained.resolve);
        await drained.promise;
    }

    /** Closes the port and all connections, also those with a request. Idempotent; may be called without a start. */
    async stop(): Promise<void> {
        this.#renewal?.[Symbol.dispose]();
        const server = this.#server;
        if (server === undefined) return;
        this.#server = undefined;
        this.#giveUp.abort();
        await this.#waiting;
        this.#waiting = undefined;
        const closed = new Promise<void>((resolve) => server.close(() => resolve()));
        for (const socket of this.#sockets) socket.destroy();
        await closed;
    }

    async #listen(server: Server): Promise<void> {
        try {
            await this.#take(server);
        } catch (error) {
            if (!this.#options.waitsForPort || !isSystemError(error, "EADDRINUSE")) throw error;
            this.#waiting = this.#takeLater(server);
        }
    }

    async #takeLater(server: Server): Promise<void> {
        const { logger } = this.#components;
        const { port } = this.#options;
        for (let tries = 0; ; tries += 1) {
            if (tries % logEachTry === 0) {
                logger.warn("port is in use; listening once it is free", {
                    port,
                });
            }
            try {
                await sleep(portPauseMs, this.#giveUp.signal, this.#clock);
                return await this.#take(server);
            } catch (error) {
                if (this.#giveUp.signal.aborted) return;
                if (!isSystemError(error, "EADDRINUSE")) {
                    logger.error("cannot listen; retrying", { port, error });
                }
            }
        }
    }

    async #take(server: Server): Promise<void> {
        await listen(server, this.#options);
        server.on("error", (error) => this.#components.logger.error("the server failed", { error }));
        this.#components.logger.info("listening", { port: (server.address() as AddressInfo).port });
    }

    #secure(): ServerOptions {
        const { ciphers, minVersion, name } = this.#options;
        if (this.#own) {
            this.#certificate = createSelfSigned({
                commonName: name,
                names: [name, "localhost", "127.0.0.1", "::1"],
                // The clocks of clients may be behind.
                notBeforeMs: this.#clock.now() - 3_600_000,
                validMs: validDays * dayMs,
            });
        }
        return {
            ...this.#certificate,
            ciphers,
            minVersion: minVersion ?? "TLSv1.2",
            maxHeaderSize: 16_384,
            handshakeTimeout: 10_000,
        };
    }

    #renewLater(): void {
        const renewAt = this.#clock.now() + (validDays - renewDays) * dayMs;
        const check = (): void => {
            if (this.#clock.now() < renewAt) {
                this.#renewal = this.#clock.after(dayMs, check);
                return;
            }
            this.#server?.setSecureContext(this.#secure());
            this.#components.logger.info("certificate renewed");
            this.#renewLater();
        };
        this.#renewal = this.#clock.after(dayMs, check);
    }
}

function listen(server: Server, options: HttpsOptions): Promise<void> {
    return new Promise((resolve, reject) => {
        server.once("error", reject);
        server.listen({ port: options.port, host: options.host }, () => {
            server.off("error", reject);
            resolve();
        });
    });
}
