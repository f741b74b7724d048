import { type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { type Clock } from "@antrea/async";
import { type JobHealth, type Logger, type Metrics } from "@antrea/runtime";
import { type Certificate } from "../certificates/certificate.ts";
import { ServingError } from "../errors.ts";
import { HttpsServer, type HttpsOptions } from "../https/server.ts";
import { isRead, refuseMethod, send } from "./answers.ts";
import { type Check, type CheckKind, type CheckResult, Checks } from "./checks.ts";
import { jobLine } from "./job-lines.ts";
import { ProbeListener } from "./probe-listener.ts";

/** Dependencies of DaemonServer: what it serves under `/metrics`, to whom, and what answers other paths. */
export interface DaemonServerComponents {
    readonly logger: Logger;
    /** If undefined, `/metrics` is answered with 404. */
    readonly metrics: Pick<Metrics, "text" | "contentType"> | undefined;
    /**
     * Resolves with true if the bearer of the token may read `/metrics`. A rejection is logged and answered with 503.
     * The signal aborts when the client disconnects.
     */
    authorize(token: string, signal: AbortSignal): Promise<boolean>;
    /** Answers requests for all other paths. Default: 404. */
    readonly handle?: RequestListener;
    /** Default: `systemClock`. */
    readonly clock?: Clock;
}

/** Options of DaemonServer: those of its HTTPS server, and where probes are answered. */
export interface DaemonServerOptions extends HttpsOptions {
    /**
     * Port on 127.0.0.1 on which the health endpoints are served too, by plain HTTP, so that probes pass whatever load
     * the main port has. 0 takes any free one; see `probePort` of the server. Default: none.
     */
    readonly probePort?: number | undefined;
    /**
     * Path of a Unix socket with the same purpose as `probePort`, where no other process can answer. A socket left by
     * an earlier process is replaced. Served before `port` is bound. Takes precedence over `probePort`.
     */
    readonly probeSocket?: string | undefined;
}

const kinds: Readonly<Record<string, CheckKind>> = { "/livez": "live", "/healthz": "live", "/readyz": "ready" };

/**
 * The HTTPS endpoints that all daemons have, for GET and HEAD (else 405): `/livez`, `/healthz` (the same) and
 * `/readyz`, open to everyone, and `/metrics` for those whom `authorize` accepts (401 without a bearer token, 403 if
 * refused). A failed health check gives 503 and the list of checks; `?verbose` always lists the checks, and for
 * `/readyz` the jobs. Other paths go to `handle`.
 */
export class DaemonServer {
    readonly #components: DaemonServerComponents;
    readonly #options: DaemonServerOptions;
    readonly #https: HttpsServer;
    readonly #checks = new Checks();
    // The checks that failed last time, by kind, so that only changes are logged.
    readonly #failing = new Map<CheckKind, string>();
    readonly #jobs: (() => readonly JobHealth[])[] = [];
    #probes: ProbeListener | undefined;

    constructor(components: DaemonServerComponents, options: DaemonServerOptions) {
        const { logger, clock } = components;
        this.#components = components;
        this.#options = options;
        const answer: RequestListener = (request, response) =>
            this.#serve(request, response, (url) => this.#answer(url, request, response));
        this.#https = new HttpsServer({ logger, answer, ...(clock !== undefined && { clock }) }, options);
    }

    /** The HTTPS port. Throws ServingError `WRONG_STATE` while it is not listening. */
    get port(): number {
        return this.#https.port;
    }

    /**
     * The port for probes; only with the option `probePort`, and undefined with `probeSocket`. Throws ServingError
     * `WRONG_STATE` while nothing listens for probes.
     */
    get probePort(): number {
        if (this.#probes !== undefined) return this.#probes.port;
        throw new ServingError("WRONG_STATE", "internal", "the server does not listen for probes");
    }

    /**
     * The current serving certificate (PEM); undefined before the start unless one was given, by the options or `show`.
     */
    get certificate(): string | undefined {
        return this.#https.certificate;
    }

    /** Adds a health check, before or after the start, which disposal removes. Throws ServingError `DUPLICATE_NAME`. */
    addCheck(name: string, kind: CheckKind, check: Check): Disposable {
        return this.#checks.add(name, kind, check);
    }

    /** Lists these jobs in `/readyz?verbose`. They do not affect the result; a job that must not fail needs a check. */
    showJobs(jobs: { health(): readonly JobHealth[] }): void {
        this.#jobs.push(() => jobs.health());
    }

    /**
     * Resolves when it listens, for probes and on its port (except with `waitsForPort`). Rejects with the system error,
     * e.g. EADDRINUSE, or with AsyncError `ABORTED` if the signal is aborted before, after which nothing listens; with
     * ServingError `WRONG_STATE` if it is started already. Later the signal has no effect: it listens until `stop`.
     */
    async start(signal?: AbortSignal): Promise<void> {
        const probes = this.#probes === undefined ? await this.#listenForProbes() : undefined;
        try {
            await this.#https.start(signal);
        } catch (error) {
            await probes?.stop();
            throw error;
        }
        this.#probes ??= probes;
    }

    /** Uses this certificate for new connections from now on; before or after the start. */
    show(certificate: Certificate): void {
        this.#https.show(certificate);
    }

    /** Ends the HTTPS server without losing a request, see `drain` of HttpsServer. Probes are answered until `stop`. */
    drain(o: { readonly leaveMs: number; readonly limitMs: number }): Promise<void> {
        return this.#https.drain(o);
    }

    /** Closes the ports and all connections, also those with a request. Idempotent; may be called without a start. */
    async stop(): Promise<void> {
        const probes = this.#probes;
        this.#probes = undefined;
        await probes?.stop();
        await this.#https.stop();
    }

    async #listenForProbes(): Promise<ProbeListener | undefined> {
        const { probePort, probeSocket } = this.#options;
        const place = probeSocket ?? probePort;
        if (place === undefined) return undefined;
        const answer: RequestListener = (request, response) => {
            this.#serve(request, response, (url) => {
                const kind = kindOf(url);
                if (kind === undefined) return send(response, 404, "known are /livez, /readyz and /healthz\n");
                if (!isRead(request)) return refuseMethod(response);
                this.#answerHealth(url, kind, response);
            });
        };
        const probes = new ProbeListener({ answer, logger: this.#components.logger });
        await probes.start(place);
        return probes;
    }

    #serve(request: IncomingMessage, response: ServerResponse, answer: (url: URL) => Promise<void> | void): void {
        // Only path and query are used; URL.parse needs a host.
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
        lines.push(`${url.pathname.slice(1)} check ${verdict}`);
        if (kind === "ready" && url.searchParams.has("verbose")) {
            lines.push(...this.#jobs.flatMap((jobs) => jobs()).map(jobLine));
        }
        lines.push("");
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
            this.#components.logger.warn("the token could not be checked", { error });
            return send(response, 503, "cannot determine whether the token is allowed; try again\n");
        }
        if (!allowed) return send(response, 403, "the token is not allowed to read /metrics\n");
        send(response, 200, await metrics.text(), metrics.contentType);
    }
}

function kindOf({ pathname }: URL): CheckKind | undefined {
    return Object.hasOwn(kinds, pathname) ? kinds[pathname] : undefined;
}
