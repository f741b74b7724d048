import { chmod, mkdir, rm } from "node:fs/promises";
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
import type { CniCalls, CniCommand } from "./calls.ts";

/** CNI calls on a unix socket by gRPC, wire-compatible with Antrea's CNI service. */
export class CniServer {
    readonly #calls: Pick<CniCalls, "call">;
    readonly #socketPath: string;
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

    /** Listens. Only the holder of the OVSDB lock may call it: the socket of an earlier process is taken over. */
    async start(): Promise<void> {
        await mkdir(dirname(this.#socketPath), { recursive: true });
        await rm(this.#socketPath, { force: true });
        await new Promise<void>((resolve, reject) => {
            this.#server.bindAsync(`unix:${this.#socketPath}`, ServerCredentials.createInsecure(), (error) => {
                if (error === null) resolve();
                else reject(error);
            });
        });
        await chmod(this.#socketPath, 0o600);
    }

    /** Lets running calls end, then closes; after the limit the calls are ended. */
    async stop(limitMs = 5_000): Promise<void> {
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
        await rm(this.#socketPath, { force: true });
    }

    #handler(command: CniCommand) {
        return (call: ServerUnaryCall<CniCmdRequest, CniCmdResponse>, answer: sendUnaryData<CniCmdResponse>): void => {
            const cancelled = new AbortController();
            const limit = setTimeout(
                () => cancelled.abort(new DOMException("the call took 60 s", "TimeoutError")),
                deadlineMs,
            );
            call.on("cancelled", () => cancelled.abort(new DOMException("the caller went away", "AbortError")));
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

/** A call that takes longer is stopped at its next step; runtimes give up after 2 to 4 minutes. */
const deadlineMs = 60_000;

/** The plain definition with Buffers, which grpc-js wants from serializers. */
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
