import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import grpc from "@grpc/grpc-js";
import { type CniCmdRequest, type CniCmdResponse, cniServiceDefinition } from "@antrea/cni";

export type Handler = (
    method: string,
    request: CniCmdRequest,
) => CniCmdResponse | { readonly code: number; readonly details: string } | "never";

export interface TestServer extends AsyncDisposable {
    readonly socketPath: string;
    /** Ends all connections at once, calls in flight included. */
    kill(): void;
}

/** A path for a socket in a folder of its own, and what removes it. */
export function socketFolder(): { readonly socketPath: string; remove(): void } {
    const folder = mkdtempSync(join(tmpdir(), "antrea-cni-"));
    return {
        socketPath: join(folder, "cni.sock"),
        remove: () => {
            rmSync(folder, { recursive: true });
        },
    };
}

/**
 * The CNI service on a unix socket by @grpc/grpc-js, as the agent serves it.
 *
 * @param at where, if not in a folder of its own, which is removed with it
 */
export async function serveCni(handler: Handler, at?: string): Promise<TestServer> {
    const { socketPath, remove } = at === undefined ? socketFolder() : { socketPath: at, remove: () => undefined };
    const server = new grpc.Server({ "grpc.max_receive_message_length": 64 * 1024 * 1024 });
    const buffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const methods = Object.entries(cniServiceDefinition);
    server.addService(
        Object.fromEntries(
            methods.map(([name, method]) => [
                name,
                {
                    ...method,
                    requestSerialize: (value: CniCmdRequest) => buffer(method.requestSerialize(value)),
                    responseSerialize: (value: CniCmdResponse) => buffer(method.responseSerialize(value)),
                },
            ]),
        ),
        Object.fromEntries(
            methods.map(([name]) => [
                name,
                (
                    call: grpc.ServerUnaryCall<CniCmdRequest, CniCmdResponse>,
                    done: grpc.sendUnaryData<CniCmdResponse>,
                ) => {
                    const answer = handler(name, call.request);
                    if (answer === "never") return;
                    if ("code" in answer) done(answer);
                    else done(null, answer);
                },
            ]),
        ),
    );
    await new Promise<void>((resolve, reject) => {
        server.bindAsync(`unix://${socketPath}`, grpc.ServerCredentials.createInsecure(), (error) => {
            if (error === null) resolve();
            else reject(error);
        });
    });
    return {
        socketPath,
        kill: () => {
            server.forceShutdown();
        },
        [Symbol.asyncDispose]: () => {
            server.forceShutdown();
            remove();
            return Promise.resolve();
        },
    };
}
