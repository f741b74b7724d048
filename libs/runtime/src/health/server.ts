import { type IncomingMessage, type ServerResponse } from "node:http";
import { createServer, type Server, type ServerOptions } from "node:https";
import { type AddressInfo, type Socket } from "node:net";
import { type SecureVersion } from "node:tls";
import { isSystemError } from "@antrea/errors";
import { type Clock, systemClock } from "../clock.ts";
import { abortedError, RuntimeError } from "../errors.ts";
import { type Logger } from "../logger.ts";
import { type Metrics } from "../metrics.ts";
import { sleep } from "../sleep.ts";
import { type Check, type CheckKind, type CheckResult, Checks } from "./checks.ts";
import { isRead, refuseMethod, send } from "./answers.ts";
import { type Certificate, createSelfSigned } from "./certificate.ts";
import { ConnectionLimit } from "./connection-limit.ts";
import { ProbeListener } from "./probe-listener.ts";

export interface HealthComponents {
    readonly logger: Logger;
    /** Undefined: `/metrics` is not served, and answered with 404. */
    readonly metrics: Pick<Metrics, "text" | "contentType"> | undefined;
    /** True when the bearer of the token may read `/metrics`. A rejection is answered with 503. */
    authorize(token: string, signal: AbortSignal): Promise<boolean>;
    /** Answers requests for all other paths. Default: 404. */
    handle?(request: IncomingMessage, response: ServerResponse): void;
    /** Default: the clock of the machine. */
    readonly clock?: Clock;
}

export interface HealthOptions {
    /** The common name of the self-signed certificate and one of the names it is valid for, e.g. `antrea-agent`. */
    readonly name: string;
    /** 0 takes any free port; see `port` of the server. */
    readonly port: number;
    /** The address to listen on. Default: every address, both families. */
    readonly host?: string;
    /**
     * Whether a port that is in use is no failure: `start` resolves, and the port is taken as soon as it is free. During
     * an update the earlier process of this program has it, and ends only when this one is ready.
     */
    readonly waitsForPort?: boolean;
    /** Default: one signed by itself, valid a year, made anew 30 days before its end; see `show`. */
    readonly certificate?: Certificate;
    /** OpenSSL names, joined by colons. Default: those of Node.js. */
    readonly ciphers?: string;
    /** Default TLSv1.2. */
    readonly minVersion?: SecureVersion;
    /** More connections than these are closed at once. Default 100: few and short requests. */
    readonly maxConnections?: number;
    /** More from one address than these are closed at once. Default 25: one client alone does not keep others out. */
    readonly maxConnectionsPerAddress?: number;
    /**
     * The health endpoints are served on this port of 127.0.0.1 too, by plain HTTP: for probes, which must pass whatever
     * comes in on the other port. 0 takes any free one; see `probePort` of the server. Default: they are not.
     */
    readonly probePort?: number | undefined;
    /**
     * The same on a Unix socket with this path: no other process answers there, whatever it listens on. What is left there
     * of an earlier process is replaced. Served before `port` is taken. Excludes `probePort`.
     */
    readonly probeSocket?: string | undefined;
    /** How long a connection may be idle, in milliseconds. Default 30,000. */
    readonly keepAliveMs?: number;
}

const dayMs = 86_400_000;
const validDays = 365;
const renewDays = 30;
/** Between two tries to get a port that is in use, and how many of them are one line of the log: each minute. */
const portPauseMs = 250;
const logEachTry = 240;
const kinds: Readonly<Record<string, CheckKind>> = { "/livez": "live", "/healthz": "live", "/readyz": "ready" };

/**
 * HTTPS with `/livez`, `/healthz` (the same) and `/readyz` open to everyone, `?verbose` lists the checks; and
 * `/metrics` for those whom `authorize` lets in: 401 without a bearer token, 403 when it is not allowed. A failed
 * check gives 503 and the list.
 */
export class HealthServer {
    readonly #components: HealthComponents;
    readonly #options: HealthOptions;
    readonly #clock: Clock;
    readonly #checks = new Checks();
    // Which checks failed the last time, by kind, so that only changes are logged.
    readonly #failing = new Map<CheckKind, string>();
    // All of them: those in the middle of the handshake are not among the HTTP server's own.
    readonly #sockets = new Set<Socket>();
    #server: Server | undefined;
    #probes: ProbeListener | undefined;
    // Ends the wait for a port in use, and is done when that has ended.
    #giveUp = new AbortController();
    #waiting: Promise<void> | undefined;
    #renewal: Disposable | undefined;
    #certificate: Certificate | undefined;
    // Whether the certificate is one that this server makes for itself.
    #own: boolean;
    #leaving = false;
    // Requests that are not answered yet, and who wants to know when there are none.
    #underWay = 0;
    #quiet: () => void = () => undefined;

    constructor(components: HealthComponents, options: HealthOptions) {
        this.#components = components;
        this.#options = options;
        this.#certificate = options.certificate;
        this.#own = options.certificate === undefined;
        this.#clock = components.clock ?? systemClock;
    }

    /** The port it listens on. Throws RuntimeError `WRONG_STATE` while it does not. */
    get port(): number {
        const address = this.#server?.address() as AddressInfo | null | undefined;
        if (!address) throw new RuntimeError("WRONG_STATE", "internal", "the health server does not listen");
        return address.port;
    }

    /** The port for probes. Throws RuntimeError `WRONG_STATE` while there is none. */
    get probePort(): number {
        if (this.#probes !== undefined) return this.#probes.port;
        throw new RuntimeError("WRONG_STATE", "internal", "the health server does not listen for probes");
    }

    /** The certificate it shows, PEM; undefined before the start. */
    get certificate(): string | undefined {
        return this.#certificate?.cert;
    }

    /** Adds a check, before or after the start, until it is disposed of. */
    addCheck(name: string, kind: CheckKind, check: Check): Disposable {
        return this.#checks.add(name, kind, check);
    }

    /**
     * Resolves when it listens, for probes and on its port (but see `waitsForPort`); rejects with the error of the platform,
     * e.g. of a port in use.
     */
    async start(signal?: AbortSignal): Promise<void> {
        if (this.#server !== undefined) {
            throw new RuntimeError("WRONG_STATE", "internal", "the health server is started twice");
        }
        if (signal?.aborted) throw abortedError("the start of the health server", signal);
        const server = createServer(this.#secure(), (request, response) => {
            this.#underWay += 1;
            response.once("close", () => {
                this.#underWay -= 1;
                if (this.#underWay === 0) this.#quiet();
            });
            if (this.#leaving) response.setHeader("connection", "close");
            this.#serve(request, response, (url) => this.#answer(url, request, response));
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
            await this.#listenForProbes();
            await this.#listen(server);
        } catch (error) {
            await this.stop();
            throw error;
        }
        if (this.#own) this.#renewLater();
    }

    /** Shows this certificate on every connection from now on, before or after the start. */
    show(certificate: Certificate): void {
        this.#renewal?.[Symbol.dispose]();
        this.#own = false;
        this.#certificate = certificate;
        this.#server?.setSecureContext(this.#secure());
    }

    /**
     * Ends without losing a request. For `leaveMs` milliseconds it answers on, and closes each connection with its next
     * answer: time for clients to go elsewhere. Then it takes no connection any more and lets the requests under way be
     * answered; resolves when they are, or after `limitMs` more. `stop` is still to be called.
     */
    async drain(o: { readonly leaveMs: number; readonly limitMs: number }): Promise<void> {
        this.#leaving = true;
        await sleep(o.leaveMs, undefined, this.#clock);
        this.#server?.close();
        if (this.#underWay === 0) return;
        const drained = Promise.withResolvers<void>();
        this.#quiet = drained.resolve;
        using _limit = this.#clock.after(o.limitMs, drained.resolve);
        await drained.promise;
    }

    /** Closes the port and all connections. */
    async stop(): Promise<void> {
        this.#renewal?.[Symbol.dispose]();
        const server = this.#server;
        if (server === undefined) return;
        this.#server = undefined;
        this.#giveUp.abort();
        await this.#waiting;
        this.#waiting = undefined;
        await this.#probes?.stop();
        this.#probes = undefined;
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
                logger.warn(
                    "the port is in use; it is taken when it is free, until then health and metrics are not there",
                    {
                        port,
                    },
                );
            }
            try {
                await sleep(portPauseMs, this.#giveUp.signal, this.#clock);
                return await this.#take(server);
            } catch (error) {
                if (this.#giveUp.signal.aborted) return;
                if (!isSystemError(error, "EADDRINUSE")) {
                    logger.error("cannot listen; trying again", { port, error });
                }
            }
        }
    }

    async #take(server: Server): Promise<void> {
        await listen(server, this.#options);
        server.on("error", (error) => this.#components.logger.error("health server failed", { error }));
        this.#components.logger.info("health server listens", { port: (server.address() as AddressInfo).port });
    }

    #secure(): ServerOptions {
        const { ciphers, minVersion, name } = this.#options;
        if (this.#own) {
            this.#certificate = createSelfSigned({
                commonName: name,
                names: [name, "localhost", "127.0.0.1", "::1"],
                // Clocks of clients may be a little behind.
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
        const look = (): void => {
            if (this.#clock.now() < renewAt) {
                this.#renewal = this.#clock.after(dayMs, look);
                return;
            }
            this.#server?.setSecureContext(this.#secure());
            this.#components.logger.info("renewed the certificate");
            this.#renewLater();
        };
        this.#renewal = this.#clock.after(dayMs, look);
    }

    async #listenForProbes(): Promise<void> {
        const { probePort, probeSocket } = this.#options;
        const place = probeSocket ?? probePort;
        if (place === undefined) return;
        const probes = new ProbeListener((request, response) => {
            this.#serve(request, response, (url) => {
                const kind = kindOf(url);
                if (kind === undefined) return send(response, 404, "known are /livez, /readyz and /healthz\n");
                if (!isRead(request)) return refuseMethod(response);
                this.#answerHealth(url, kind, response);
            });
        });
        await probes.start(place);
        this.#probes = probes;
    }

    #serve(request: IncomingMessage, response: ServerResponse, answer: (url: URL) => Promise<void> | void): void {
        // Only path and query matter; the host is there because a URL needs one.
        const url = URL.parse(request.url ?? "/", "https://localhost");
        if (url === null) return send(response, 400, "bad request target\n");
        const run = async (): Promise<void> => answer(url);
        run().catch((error: unknown) => {
            this.#components.logger.error("request failed", { path: request.url, error });
            response.destroy();
        });
    }

    async #answer(url: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
        const { metrics } = this.#components;
        const kind = kindOf(url);
        const known = kind !== undefined || url.pathname === "/metrics";
        if (!known && this.#components.handle !== undefined) return this.#components.handle(request, response);
        if (url.pathname === "/metrics" && metrics === undefined) {
            return send(response, 404, "metrics are switched off: enablePrometheusMetrics is false\n");
        }
        if (!isRead(request)) return refuseMethod(response);
        if (kind !== undefined) return this.#answerHealth(url, kind, response);
        if (known && metrics !== undefined) return this.#answerMetrics(metrics, request, response);
        send(response, 404, "known are /livez, /readyz, /healthz and /metrics\n");
    }

    #answerHealth(url: URL, kind: CheckKind, response: ServerResponse): void {
        const results = this.#checks.run(kind);
        const failed = results.filter(({ problem }) => problem !== undefined);
        this.#logChange(kind, failed);
        if (failed.length === 0 && !url.searchParams.has("verbose")) return send(response, 200, "ok\n");
        const verdict = failed.length === 0 ? "passed" : "failed";
        const lines = results.map(({ name, problem }) =>
            problem === undefined ? `[+]${name} ok` : `[-]${name} failed: ${problem}`,
        );
        lines.push(`${url.pathname.slice(1)} check ${verdict}`, "");
        send(response, failed.length === 0 ? 200 : 503, lines.join("\n"));
    }

    #logChange(kind: CheckKind, failed: readonly CheckResult[]): void {
        const names = failed.map(({ name }) => name).join(",");
        if ((this.#failing.get(kind) ?? "") === names) return;
        this.#failing.set(kind, names);
        if (names === "") this.#components.logger.info("health checks pass again", { kind });
        else this.#components.logger.warn("health checks fail", { kind, failed });
    }

    async #answerMetrics(
        metrics: Pick<Metrics, "text" | "contentType">,
        request: IncomingMessage,
        response: ServerResponse,
    ): Promise<void> {
        const token = /^Bearer +([\x21-\x7e]+)$/i.exec(request.headers.authorization ?? "")?.[1];
        if (token === undefined) {
            response.setHeader("www-authenticate", "Bearer");
            return send(response, 401, "a bearer token is needed\n");
        }
        const gone = new AbortController();
        response.once("close", () => gone.abort());
        let allowed: boolean;
        try {
            allowed = await this.#components.authorize(token, gone.signal);
        } catch (error) {
            if (gone.signal.aborted) return;
            this.#components.logger.warn("could not ask whether the token is allowed", { error });
            return send(response, 503, "cannot tell whether the token is allowed; try again\n");
        }
        if (!allowed) return send(response, 403, "the token is not allowed to read /metrics\n");
        send(response, 200, await metrics.text(), metrics.contentType);
    }
}

function kindOf({ pathname }: URL): CheckKind | undefined {
    return Object.hasOwn(kinds, pathname) ? kinds[pathname] : undefined;
}

function listen(server: Server, options: HealthOptions): Promise<void> {
    return new Promise((resolve, reject) => {
        server.once("error", reject);
        server.listen({ port: options.port, host: options.host }, () => {
            server.off("error", reject);
            resolve();
        });
    });
}
