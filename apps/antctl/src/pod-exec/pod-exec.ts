import { type IncomingMessage } from "node:http";
import { messageOf } from "@antrea/errors";
import { type Connection } from "@antrea/kube";
import WebSocket from "ws";
import { CliError } from "../errors.ts";
import { oneLine } from "../output/index.ts";
import { ChannelReader, subprotocol, type ExecOutcome, type ExecResult } from "./channels.ts";

/** A command to run in a container: the program and its arguments, without a shell, standard input or terminal. */
export interface ExecRequest {
    readonly namespace: string;
    readonly pod: string;
    readonly container: string;
    readonly command: readonly string[];
}

/** What PodExec depends on: `KubeClients` of @antrea/kube. */
export interface PodExecComponents {
    /** Address and credentials of the API server; requested for each execution. */
    connection(): Promise<Connection>;
}

/** Options of PodExec; the limits apply to each execution. */
export interface PodExecOptions {
    readonly userAgent: string;
    /** For connecting and running one command, in milliseconds. */
    readonly timeoutMs: number;
    /** Limit of standard output and standard error together, in bytes. Default 16 MiB. */
    readonly maxBytes?: number | undefined;
}

/**
 * Runs commands in containers through the exec subresource of Pods, each over its own WebSocket, which ends with `run`.
 * Concurrent calls are allowed.
 */
export class PodExec {
    readonly #components: PodExecComponents;
    readonly #options: PodExecOptions;

    constructor(components: PodExecComponents, options: PodExecOptions) {
        this.#components = components;
        this.#options = options;
    }

    /**
     * Runs the command until it exits. Rejects with CliError `EXEC_FAILED` if it could not be started, its exit code is
     * not 0, or it exceeds the limit of time or output, after which it may still run; with KubeError `BAD_CONFIG` of
     * the credentials.
     */
    async run(request: ExecRequest): Promise<ExecResult> {
        const connection = await this.#components.connection();
        const outcome = await this.#converse(connection, request);
        if (outcome.kind === "failed") throw failure(request, outcome.reason);
        const { exitCode, stderr } = outcome.result;
        if (exitCode !== 0) throw failure(request, `exit code ${exitCode}: ${oneLine(stderr) || "no message"}`);
        return outcome.result;
    }

    #converse(connection: Connection, request: ExecRequest): Promise<ExecOutcome> {
        const { promise, resolve } = Promise.withResolvers<ExecOutcome>();
        const reader = new ChannelReader(this.#options.maxBytes ?? 16 << 20);
        // The agent supplies certificates, server name and proxy, as for every other request.
        const socket = new WebSocket(execUrl(connection.server, request), [subprotocol], {
            agent: connection.streamAgent,
            headers: { ...connection.headers, "User-Agent": this.#options.userAgent } as Record<string, string>,
            perMessageDeflate: false,
        });
        const fail = (reason: string): void => resolve({ kind: "failed", reason });
        const timer = setTimeout(() => {
            fail(`no end within ${this.#options.timeoutMs} ms`);
            socket.terminate();
        }, this.#options.timeoutMs);
        socket.on("unexpected-response", (_request, response) => {
            void refusal(response).then((reason) => {
                fail(reason);
                socket.terminate();
            });
        });
        socket.on("open", () => {
            if (socket.protocol === subprotocol) return;
            fail(`the API server does not speak ${subprotocol}`);
            socket.terminate();
        });
        socket.on("message", (data: Buffer) => {
            if (reader.take(data)) return;
            resolve(reader.outcome());
            socket.terminate();
        });
        socket.on("error", (error) => fail(messageOf(error)));
        socket.on("close", () => resolve(reader.outcome()));
        return promise.finally(() => clearTimeout(timer));
    }
}

function execUrl(server: URL, { namespace, pod, container, command }: ExecRequest): string {
    const query = new URLSearchParams({ container, stdout: "true", stderr: "true" });
    for (const word of command) query.append("command", word);
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/exec`;
    const scheme = server.protocol === "https:" ? "wss:" : "ws:";
    return `${scheme}//${server.host}${server.pathname.replace(/\/$/, "")}${path}?${query.toString()}`;
}

const maxRefusalBytes = 64 << 10;

/** The API server's reason for not opening the connection: the message of its Status, or the HTTP status. */
async function refusal(response: IncomingMessage): Promise<string> {
    const text = await bodyOf(response).catch(() => "");
    const prefix = `the API server answered ${response.statusCode}`;
    try {
        const { message } = JSON.parse(text) as { readonly message?: unknown };
        return typeof message === "string" ? `${prefix}: ${oneLine(message)}` : prefix;
    } catch {
        return prefix;
    }
}

async function bodyOf(response: IncomingMessage): Promise<string> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of response) {
        bytes += (chunk as Buffer).length;
        if (bytes > maxRefusalBytes) break;
        chunks.push(chunk as Buffer);
    }
    return Buffer.concat(chunks).toString("utf8");
}

function failure(request: ExecRequest, reason: string): CliError {
    const where = `container ${request.container} of Pod ${request.namespace}/${request.pod}`;
    return new CliError(
        "EXEC_FAILED",
        "environment",
        `cannot run ${request.command[0]} in ${where}: ${reason}`,
        `try: kubectl -n ${request.namespace} exec ${request.pod} -c ${request.container} -- ${request.command.join(" ")}`,
    );
}
