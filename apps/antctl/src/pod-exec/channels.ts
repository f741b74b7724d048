/**
 * The WebSocket subprotocol of Kubernetes' streaming protocol: the first byte of each binary message is the channel, 1
 * standard output, 2 standard error, 3 the status (metav1.Status in JSON; k8s.io/apimachinery, pkg/util/remotecommand).
 */
export const subprotocol = "v5.channel.k8s.io";

const stdout = 1;
const stderr = 2;
const status = 3;

/** Output and exit code of a finished command. The output is decoded as UTF-8; invalid bytes become U+FFFD. */
export interface ExecResult {
    readonly stdout: string;
    readonly stderr: string;
    readonly exitCode: number;
}

/**
 * How an execution ended: `finished` with any exit code, or `failed`; `reason` is a part of a sentence, for messages.
 */
export type ExecOutcome =
    | { readonly kind: "finished"; readonly result: ExecResult }
    /** The command could not be started, or its exit status is unknown. */
    | { readonly kind: "failed"; readonly reason: string };

/** Collects the messages of one execution: give each to `take`, then read `outcome`. Performs no I/O. */
export class ChannelReader {
    readonly #maxBytes: number;
    readonly #parts: { readonly [stdout]: Uint8Array[]; readonly [stderr]: Uint8Array[] } = {
        [stdout]: [],
        [stderr]: [],
    };
    #bytes = 0;
    #status: unknown;
    #problem: string | undefined;

    /** `maxBytes` limits standard output and standard error together, in bytes. */
    constructor(maxBytes: number) {
        this.#maxBytes = maxBytes;
    }

    /**
     * Processes one message, which is copied. False if the execution has failed: a message breaks the protocol, or the
     * output is too long; the connection can be closed.
     */
    take(message: Uint8Array): boolean {
        const [channel] = message;
        const body = message.subarray(1);
        if (channel === stdout || channel === stderr) {
            this.#bytes += body.length;
            if (this.#bytes > this.#maxBytes) this.#problem = `its output is longer than ${this.#maxBytes} bytes`;
            else this.#parts[channel].push(Uint8Array.from(body));
        } else if (channel === status) {
            try {
                this.#status = JSON.parse(new TextDecoder().decode(body));
            } catch {
                this.#problem = "its status is no JSON";
            }
        } else {
            this.#problem = `a message came on channel ${channel}, which is not used here`;
        }
        return this.#problem === undefined;
    }

    /** The outcome, once the connection is closed or `take` was false; `failed` if no status has arrived. */
    outcome(): ExecOutcome {
        if (this.#problem !== undefined) return { kind: "failed", reason: this.#problem };
        if (this.#status === undefined)
            return { kind: "failed", reason: "the connection ended before the command did" };
        const exitCode = exitCodeOf(this.#status);
        if (exitCode === undefined) return { kind: "failed", reason: messageOf(this.#status) };
        return { kind: "finished", result: { stdout: this.#text(stdout), stderr: this.#text(stderr), exitCode } };
    }

    #text(channel: typeof stdout | typeof stderr): string {
        return new TextDecoder().decode(Buffer.concat(this.#parts[channel]));
    }
}

interface Status {
    readonly status?: unknown;
    readonly message?: unknown;
    readonly reason?: unknown;
    readonly details?: { readonly causes?: readonly { readonly reason?: unknown; readonly message?: unknown }[] };
}

// metav1.Status: Success, or NonZeroExitCode with the code in a cause; anything else is not an exit status.
function exitCodeOf(value: unknown): number | undefined {
    const status = (value ?? {}) as Status;
    if (status.status === "Success") return 0;
    if (status.reason !== "NonZeroExitCode") return undefined;
    const text = status.details?.causes?.find(({ reason }) => reason === "ExitCode")?.message;
    return typeof text === "string" && /^\d{1,3}$/.test(text) ? Number(text) : undefined;
}

function messageOf(value: unknown): string {
    const { message } = (value ?? {}) as Status;
    return typeof message === "string" && message !== "" ? message : "it failed without a message";
}
