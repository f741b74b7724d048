import { readFile } from "node:fs/promises";
import { createConnection } from "node:net";
import { join } from "node:path";
import { orAborted } from "@antrea/async";
import { type Fault, isErrorOf } from "@antrea/errors";
import { decodeRpcMessage, encodeRequest, JsonSplitter, OvsdbError } from "@antrea/ovsdb";
import { UnixctlError, type UnixctlErrorCode } from "./errors.ts";

/** Settings of Unixctl. */
export interface UnixctlOptions {
    /** The directory of the pid files and sockets of the OVS daemons. */
    readonly runDir: string;
    /** Time limit of a request in milliseconds. Default 5000. */
    readonly timeoutMs?: number;
    /** Limit of an answer in bytes; a longer one is the error `ANSWER_TOO_LONG`. Default 1 MiB. */
    readonly maxAnswerBytes?: number;
}

const defaultUnixctlOptions = { timeoutMs: 5_000, maxAnswerBytes: 1 << 20 } as const;

const requestId = 0;
const logHint = "see the log of container antrea-ovs";

/**
 * Client for the control socket of ovs-vswitchd, as used by ovs-appctl(8): JSON-RPC 1.0 with one connection per
 * command, so that nothing is to be closed. The socket name contains the daemon's pid, which is read each time, so that
 * a restart needs no handling. Requests may be concurrent; the daemon processes one at a time, between its other work.
 */
export class Unixctl {
    readonly #options: UnixctlOptions & typeof defaultUnixctlOptions;

    constructor(options: UnixctlOptions) {
        this.#options = { ...defaultUnixctlOptions, ...options } as UnixctlOptions & typeof defaultUnixctlOptions;
    }

    /**
     * Runs a command (ovs-vswitchd(8), "Runtime Management Commands") with these arguments and resolves with its
     * output. After an abort, a timeout or a disconnection the command may still take effect.
     *
     * @throws UnixctlError; `ABORTED` if the signal aborts
     */
    async request(command: string, args: readonly string[] = [], signal?: AbortSignal): Promise<string> {
        const socketPath = await this.#socketPath(command, args);
        return new Exchange({ ...this.#options, socketPath, command, args }).run(signal);
    }

    async #socketPath(command: string, args: readonly string[]): Promise<string> {
        const pidFile = join(this.#options.runDir, "ovs-vswitchd.pid");
        const notRunning = (what: string, cause?: unknown): UnixctlError =>
            new UnixctlError(
                "NOT_RUNNING",
                "environment",
                `ovs-vswitchd is not running, ${pidFile} ${what}: no process to ask for ${line(command, args)}; ${logHint}`,
                { cause, details: { pidFile, command, args } },
            );
        let text: string;
        try {
            text = await readFile(pidFile, "utf8");
        } catch (cause) {
            throw notRunning("cannot be read", cause);
        }
        const pid = /^(\d{1,10})\s*$/.exec(text)?.[1];
        if (pid === undefined) throw notRunning("holds no process id");
        return join(this.#options.runDir, `ovs-vswitchd.${pid}.ctl`);
    }
}

interface ExchangeOptions {
    readonly socketPath: string;
    readonly command: string;
    readonly args: readonly string[];
    readonly timeoutMs: number;
    readonly maxAnswerBytes: number;
}

/** One connection with one request and its answer. */
class Exchange {
    readonly #options: ExchangeOptions;

    constructor(options: ExchangeOptions) {
        this.#options = options;
    }

    async run(signal: AbortSignal | undefined): Promise<string> {
        const { socketPath, command, args, timeoutMs } = this.#options;
        if (signal?.aborted) throw this.#aborted(signal);
        const { promise, resolve, reject } = Promise.withResolvers<string>();
        const splitter = new JsonSplitter(this.#options.maxAnswerBytes);
        const socket = createConnection({ path: socketPath });
        let connected = false;
        socket.on("connect", () => {
            connected = true;
            socket.write(encodeRequest(requestId, command, args));
        });
        socket.on("data", (chunk) => {
            try {
                for (const message of splitter.push(chunk)) resolve(this.#answerOf(message));
            } catch (error) {
                reject(error instanceof UnixctlError ? error : this.#badAnswer(error));
            }
        });
        socket.on("error", (cause) => {
            reject(connected ? this.#ended(cause) : this.#notListening(cause));
        });
        socket.on("close", () => reject(this.#ended()));
        const timer = setTimeout(() => reject(this.#timeout()), timeoutMs);
        try {
            return await orAborted(promise, signal, () => this.#aborted(signal));
        } finally {
            clearTimeout(timer);
            socket.destroy();
        }
    }

    #answerOf(value: unknown): string {
        const message = decodeRpcMessage(value);
        if (message.kind !== "response" || message.id !== requestId) {
            throw this.#error("BAD_ANSWER", "remote", "answered something that is no answer to");
        }
        if (message.error !== null) {
            const answer = String(message.error).trim();
            throw this.#error("REFUSED", "environment", "refused", `: ${answer}`, { answer });
        }
        if (typeof message.result !== "string") {
            throw this.#error("BAD_ANSWER", "remote", "answered with something that is no text to");
        }
        return message.result;
    }

    #badAnswer(cause: unknown): UnixctlError {
        if (isErrorOf(OvsdbError, cause, "MESSAGE_TOO_LONG")) {
            const { maxAnswerBytes } = this.#options;
            const rest = `; ask for less than ${maxAnswerBytes} bytes`;
            return this.#error("ANSWER_TOO_LONG", "environment", "gave too long an answer to", rest, { cause });
        }
        const rest = "; is this the socket of ovs-vswitchd?";
        return this.#error("BAD_ANSWER", "remote", "did not answer in JSON-RPC to", rest, { cause });
    }

    #notListening(cause: unknown): UnixctlError {
        return this.#error("NOT_RUNNING", "environment", "does not listen for", `; ${logHint}`, { cause });
    }

    #ended(cause?: unknown): UnixctlError {
        const rest = `; it may have ended: ${logHint}`;
        return this.#error("DISCONNECTED", "environment", "closed the connection before the answer to", rest, {
            cause,
        });
    }

    #timeout(): UnixctlError {
        const rest = ` within ${this.#options.timeoutMs} ms; it hangs or the Node is overloaded: ${logHint}`;
        return this.#error("TIMEOUT", "timeout", "did not answer", rest);
    }

    #aborted(signal: AbortSignal | undefined): UnixctlError {
        return this.#error("ABORTED", "aborted", "is no longer asked for", "", { cause: signal?.reason });
    }

    #error(
        code: UnixctlErrorCode,
        fault: Fault,
        what: string,
        rest = "",
        { cause, answer }: { readonly cause?: unknown; readonly answer?: string } = {},
    ): UnixctlError {
        const { socketPath, command, args } = this.#options;
        const message = `ovs-vswitchd at ${socketPath} ${what} ${line(command, args)}${rest}`;
        return new UnixctlError(code, fault, message, {
            cause,
            details: { socketPath, command, args, ...(answer === undefined ? {} : { answer }) },
        });
    }
}

function line(command: string, args: readonly string[]): string {
    return [command, ...args].join(" ");
}
