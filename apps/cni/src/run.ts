import {
    CniCallError,
    CniMessageError,
    ErrorCode,
    type CniCommand,
    type CniError,
    type CniMethodName,
    cniMethodPath,
    currentVersion,
    decodeCniCmdResponse,
    encodeCniCmdRequest,
    parseEnvironment,
    peekCniVersion,
    textDetail,
    toCniError,
    toErrorObject,
    versionAnswer,
} from "@antrea/cni";
import { messageOf } from "@antrea/errors";
import { Http2Error } from "./http2/error.ts";
import { type CallOutcome } from "./http2/unary-call.ts";
import { graceS, type LastGoodStatus } from "./last-good-status.ts";
import { statusError } from "./status-error.ts";

/** What a run depends on: the process and the agent. */
export interface RunComponents {
    /** The environment variables of the process: the parameters of CNI (CNI_COMMAND …). */
    readonly environment: Readonly<Record<string, string | undefined>>;
    /** Reads standard input to its end. A rejection becomes CNI error IO_FAILURE. */
    readInput(): Promise<Uint8Array>;
    /**
     * Calls the agent (gRPC method `path`); may connect before the message is complete. Rejects as `message` does, or
     * with Http2Error.
     */
    callAgent(path: string, message: Promise<Uint8Array>): Promise<CallOutcome>;
    /** The time of the last successful STATUS of earlier runs. */
    readonly lastGoodStatus: Pick<LastGoodStatus, "keep" | "check">;
}

/**
 * The outcome of a run: standard output (a result or an error object of the CNI specification, in JSON; empty for
 * successful DEL, CHECK, GC and STATUS) and exit code of the process, 1 with an error.
 */
export interface Answer {
    readonly output: Uint8Array;
    readonly exitCode: 0 | 1;
}

const methods: Readonly<Record<Exclude<CniCommand, "VERSION">, CniMethodName>> = {
    ADD: "CmdAdd",
    CHECK: "CmdCheck",
    DEL: "CmdDel",
    GC: "CmdGc",
    STATUS: "CmdStatus",
};

/**
 * Handles one invocation of the plugin (CNI specification, section 2): parameters from the environment, configuration
 * from standard input, answer from the agent, VERSION without it. Never rejects: every failure is a CNI error result. A
 * failed STATUS succeeds within `graceS` seconds of a good one if the agent is not available. Writes no output: the
 * caller does.
 */
export async function run(components: RunComponents): Promise<Answer> {
    let input = new Uint8Array() as Uint8Array;
    let answered: CniCommand | undefined;
    const fail = (error: CniError): Answer => {
        if (answered === "STATUS") return statusFailure(error, input, components.lastGoodStatus);
        return failure(error, input);
    };
    try {
        const { command, args } = parseEnvironment(components.environment);
        answered = command;
        if (command === "VERSION") return { output: json(versionAnswer()), exitCode: 0 };
        const message = readInput(components).then((bytes) => {
            input = bytes;
            return encodeCniCmdRequest({ cniArgs: { ...args, networkConfiguration: bytes } });
        });
        const outcome = await components.callAgent(cniMethodPath(methods[command]), message);
        if (outcome.kind === "status") throw statusError(command, outcome.status, outcome.text);
        const response = decodeCniCmdResponse(outcome.message);
        if (response.error !== undefined) return fail(response.error);
        if (command === "STATUS") components.lastGoodStatus.keep();
        return { output: response.cniResult, exitCode: 0 };
    } catch (error) {
        return fail(toCniError(asCallError(error)));
    }
}

/**
 * A container runtime polls STATUS every few seconds, and a single failure makes the Node NotReady and removes its
 * Pods from their Services. So a network that was ready within the grace period counts as ready, which covers agent
 * restarts and transient failures. Configuration errors are excluded.
 */
function statusFailure(error: CniError, input: Uint8Array, lastGood: RunComponents["lastGoodStatus"]): Answer {
    if (error.code !== ErrorCode.PLUGIN_NOT_AVAILABLE) return failure(error, input);
    const { recent, text } = lastGood.check();
    if (recent) return { output: new Uint8Array(), exitCode: 0 };
    const detail = textDetail(`STATUS stays good for ${graceS} s after a good answer: ${text}`);
    return failure({ ...error, details: [...error.details, detail] }, input);
}

async function readInput(components: RunComponents): Promise<Uint8Array> {
    try {
        return await components.readInput();
    } catch (cause) {
        throw new CniCallError("IO_FAILURE", "environment", "the network configuration on standard input", { cause });
    }
}

function asCallError(error: unknown): unknown {
    if (!(error instanceof Http2Error || error instanceof CniMessageError)) return error;
    const text = `the answer on the agent's socket is no valid gRPC answer: ${messageOf(error)}`;
    return new CniCallError("UNKNOWN_RPC_ERROR", "remote", text);
}

function failure(error: CniError, input: Uint8Array): Answer {
    return { output: json(toErrorObject(error, peekCniVersion(input) ?? currentVersion)), exitCode: 1 };
}

function json(value: unknown): Uint8Array {
    return new TextEncoder().encode(JSON.stringify(value));
}
