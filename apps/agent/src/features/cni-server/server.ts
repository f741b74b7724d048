import { chmod, mkdir, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import {
    Server,
    ServerCredentials,
    type sendUnaryData,
    type ServerUnaryCall,
    type ServiceDefinition,
} from "@grpc/grpc-js";
import {
    cniServiceDefinition,
    toCniError,
    type CniCmdRequest,
    type CniCmdResponse,
    type CniMethodName,
} from "@antrea/cni";
import { AntreaError } from "@antrea/errors";
import type { CniCalls, CniCommand } from "./calls.ts";

class CniServerError extends AntreaError<"LISTEN_FAILED" | "DEADLINE" | "CALLER_GONE"> {}

/**
 * Serves CNI calls on a unix socket (mode 0600) over gRPC, wire-compatible with upstream Antrea's CNI service. A call
 * is aborted after 60 s, or when its caller disconnects. To be started and stopped once.
 */
export class CniServer {
    readonly #calls: Pick<CniCalls, "call">;
    readonly #socketPath: string;
    #inode: number | undefined;
    #stopped: Promise<void> | undefined;
    readonly #server = new Server({ "grpc.max_receive_message_length": 4 << 20 });

    constructor(components: { readonly calls: Pick<CniCalls, "call"> }, options: { readonly socketPath: string }) {
        this.#calls = components.calls;
        this.#socketPath = options.socketPath;
        this.#server.addService(grpcDefinition(), {
            CmdAdd: this.#handler("add"),
            CmdDel: this.#handler("del"),
            CmdCheck: this.#handler("check"),
            CmdGc: this.#handler("gc"),
            CmdStatus: this.#handler("status"),
        });
    }

    /**
     * Listens on the socket; rejects with CniServerError `LISTEN_FAILED`. Only the holder of the OVSDB lock may call
     * it, since it takes over the socket of an earlier process. The socket gets its name by rename, when it is ready
     * and its mode is set; and the name that Node.js removes on close is the one it was bound to, not that of a later
     * process.
     */
    async start(): Promise<void> {
        const bound = `${this.#socketPath}.${process.pid}`;
        try {
            await mkdir(dirname(bound), { recursive: true });
            await rm(bound, { force: true });
            await this.#bind(bound);
            await chmod(bound, 0o600);
            this.#inode = (await stat(bound)).ino;
            await rename(bound, this.#socketPath);
        } catch (cause) {
            this.#server.forceShutdown();
            throw new CniServerError(
                "LISTEN_FAILED",
                "environment",
                `cannot listen on ${this.#socketPath} (cniSocket); is its folder mounted writable?`,
                { cause },
            );
        }
    }

    /**
     * Waits for running calls, then closes and removes the socket; after `limitMs` milliseconds (default 5 s) the calls
     * are aborted. Concurrent calls share the first. Never rejects because of running calls.
     */
    stop(limitMs = 5_000): Promise<void> {
        this.#stopped ??= this.#stop(limitMs);
        return this.#stopped;
    }

    async #stop(limitMs: number): Promise<void> {
        await new Promise<void>((resolve) => {
            const limit = setTimeout(() => {
                this.#server.forceShutdown();
                resolve();
            }, limitMs);
            this.#server.tryShutdown(() => {
                clearTimeout(limit);
                resolve();
            });
        });
        const present = await stat(this.#socketPath).catch(() => undefined);
        if (present?.ino === this.#inode) await rm(this.#socketPath, { force: true });
    }

    #bind(path: string): Promise<void> {
        return new Promise((resolve, reject) => {
            this.#server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), (error) => {
                if (error === null) resolve();
                else reject(error);
            });
        });
    }

    #handler(command: CniCommand) {
        return (call: ServerUnaryCall<CniCmdRequest, CniCmdResponse>, answer: sendUnaryData<CniCmdResponse>): void => {
            const cancelled = new AbortController();
            const limit = setTimeout(
                () =>
                    cancelled.abort(new CniServerError("DEADLINE", "timeout", `the call took ${deadlineMs / 1000} s`)),
                deadlineMs,
            );
            call.on("cancelled", () =>
                cancelled.abort(new CniServerError("CALLER_GONE", "aborted", "the caller went away")),
            );
            this.#calls
                .call(command, call.request.cniArgs, cancelled.signal)
                .then(
                    (cniResult): CniCmdResponse => ({ cniResult }),
                    (error: unknown): CniCmdResponse => ({ cniResult: new Uint8Array(), error: toCniError(error) }),
                )
                .then((response) => answer(null, response))
                .finally(() => clearTimeout(limit))
                .catch(() => undefined);
        };
    }
}

/** A call that takes longer is aborted at its next step; runtimes give up after 2 to 4 minutes. */
const deadlineMs = 60_000;

/** The plain service definition with Buffers, as grpc-js requires for serializers. */
function grpcDefinition(): ServiceDefinition {
    const toBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const names = Object.keys(cniServiceDefinition) as CniMethodName[];
    return Object.fromEntries(
        names.map((name) => {
            const method = cniServiceDefinition[name];
            return [
                name,
                {
                    ...method,
                    requestSerialize: (request: CniCmdRequest) => toBuffer(method.requestSerialize(request)),
                    responseSerialize: (response: CniCmdResponse) => toBuffer(method.responseSerialize(response)),
                },
            ];
        }),
    );
}
