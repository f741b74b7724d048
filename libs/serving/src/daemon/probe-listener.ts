import { rm } from "node:fs/promises";
import { type RequestListener } from "node:http";
import { type Logger } from "@antrea/runtime";
import { ServingError } from "../errors.ts";
import { HttpServer } from "../http/server.ts";

const address = "127.0.0.1";

/**
 * Plain HTTP server on 127.0.0.1 or a Unix socket for the probes of the kubelet, whose connections only the Node itself
 * can exhaust. Connections from other addresses are closed, even if the Node routes them to its loopback addresses.
 * `answer` gets every request. It listens from `start` to `stop`.
 */
export class ProbeListener {
    readonly #server: HttpServer;
    #local = false;

    constructor(components: { readonly answer: RequestListener; readonly logger: Pick<Logger, "error"> }) {
        const admits = ({ remoteAddress }: { readonly remoteAddress?: string | undefined }): boolean =>
            this.#local || isLoopback(remoteAddress);
        this.#server = new HttpServer(components, { admits });
    }

    /** The port on which it listens; only after `start` with a port. */
    get port(): number {
        return this.#server.port;
    }

    /**
     * Resolves when it listens: on a port (0 takes any free one), or at the path of a Unix socket, replacing a file
     * there. Rejects with the system error.
     */
    async start(place: number | string): Promise<void> {
        this.#local = typeof place === "string";
        // A process that was killed leaves its socket behind.
        if (typeof place === "string") await rm(place, { force: true });
        await this.#server.start(typeof place === "string" ? { path: place } : { port: place, host: address });
    }

    /**
     * Closes the listener and all connections, also those with a request. Never rejects; may be called without a start.
     */
    stop(): Promise<void> {
        return this.#server.stop();
    }
}

/** Includes IPv4 addresses as an IPv6 socket presents them. */
function isLoopback(remote: string | undefined): boolean {
    return remote !== undefined && /^(?:(?:::ffff:)?127\.|::1$)/.test(remote);
}

/**
 * Returns the port for probes from the environment variable PROBE_PORT, which the chart sets; undefined if it is empty
 * or not set. Throws ServingError `BAD_PORT`.
 */
export function probePortFrom(env: NodeJS.ProcessEnv): number | undefined {
    const text = env["PROBE_PORT"];
    if (text === undefined || text === "") return undefined;
    const port = Number(text);
    if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port;
    throw new ServingError(
        "BAD_PORT",
        "caller",
        `PROBE_PORT is ${JSON.stringify(text)}: it must be a port from 1 to 65535`,
    );
}
