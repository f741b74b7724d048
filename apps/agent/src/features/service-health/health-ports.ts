import type { RequestListener } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "@antrea/async";
import { AntreaError, isSystemError, messageOf } from "@antrea/errors";
import { Reconciler, type Logger, type MetricsFactory, type PassResult } from "@antrea/runtime";
import { HttpServer } from "@antrea/serving";

/** A port at which health is served. */
export interface HealthPort {
    /** Undefined: all addresses of both families. */
    readonly host: string | undefined;
    readonly port: number;
    /** False: the connection is closed. */
    readonly admits?: (socket: Socket) => boolean;
    readonly answer: RequestListener;
}

/** A port of health checks cannot be listened at; it is tried again. */
class HealthPortError extends AntreaError<"PORT_TAKEN" | "CANNOT_LISTEN"> {}

/** Dependencies of HealthPorts. */
export interface HealthPortsComponents {
    readonly logger: Logger;
    readonly clock: Clock;
    readonly metrics: MetricsFactory;
    /** Called once when a port cannot be opened, until it was opened or changed. */
    readonly onFailed: (key: string, port: number, error: AntreaError) => void;
}

const maxConnections = 100;
const maxConnectionsPerAddress = 25;
const retry = { initialMs: 1_000, maxMs: 10_000, jitter: 0 };

/**
 * The ports at which health is served, by a key each. A port that another program has is tried again, after ten seconds at
 * most. Its owner runs `pass` in a job, and calls `close` at the end.
 */
export class HealthPorts {
    readonly #components: HealthPortsComponents;
    readonly #ports: Reconciler<string, HealthPort>;
    readonly #open = new Map<string, HttpServer>();
    readonly #failed = new Map<string, number>();

    constructor(components: HealthPortsComponents) {
        this.#components = components;
        const { logger, clock, metrics } = components;
        this.#ports = new Reconciler<string, HealthPort>(
            { logger, clock, metrics },
            {
                name: "service-health/ports",
                backoff: retry,
                isEqual: (one, other) => one.port === other.port && one.host === other.host,
            },
            {
                update: ({ key, value }) => this.#replace(key, value),
                delete: ({ key }) => this.#close(key),
            },
        );
    }

    /** Sets the port of a key. Of one with the same host and port the earlier `answer` goes on. */
    set(key: string, port: HealthPort): void {
        this.#ports.set(key, port);
    }

    /** Gives the port of a key up. */
    delete(key: string): void {
        this.#ports.delete(key);
    }

    /** Opens and closes what is due, and resolves with when the next pass has work. */
    pass(signal: AbortSignal): Promise<PassResult> {
        return this.#ports.pass(signal);
    }

    /** Closes all ports and connections, for good. Never rejects. */
    async close(): Promise<void> {
        this.#ports[Symbol.dispose]();
        await Promise.all([...this.#open.keys()].map((key) => this.#close(key)));
    }

    async #replace(key: string, { host, port, admits, answer }: HealthPort): Promise<void> {
        if (this.#failed.get(key) !== port) await this.#close(key);
        const { logger, onFailed } = this.#components;
        const limits = { maxConnections, maxConnectionsPerAddress };
        const server = new HttpServer({ logger, answer }, admits === undefined ? limits : { ...limits, admits });
        try {
            await server.start(host === undefined ? { port } : { port, host });
        } catch (cause) {
            const error = failureOf(port, cause);
            const isKnown = this.#failed.get(key) === port;
            this.#failed.set(key, port);
            if (!isKnown) onFailed(key, port, error);
            throw error;
        }
        this.#failed.delete(key);
        this.#open.set(key, server);
        logger.info("health checks are served", { of: key, port });
    }

    async #close(key: string): Promise<void> {
        this.#failed.delete(key);
        const server = this.#open.get(key);
        if (server === undefined) return;
        this.#open.delete(key);
        await server.stop();
        this.#components.logger.info("health checks are no longer served", { of: key });
    }
}

function failureOf(port: number, cause: unknown): HealthPortError {
    if (isSystemError(cause, "EADDRINUSE")) {
        const what = `another program listens at port ${port}, which is tried again`;
        return new HealthPortError("PORT_TAKEN", "environment", what);
    }
    const what = `cannot listen at port ${port}, which is tried again: ${messageOf(cause)}`;
    return new HealthPortError("CANNOT_LISTEN", "environment", what, { cause });
}
