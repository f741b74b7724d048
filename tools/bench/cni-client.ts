import { Client, credentials } from "@grpc/grpc-js";
import { cniServiceDefinition, type CniCmdArgs, type CniCmdResponse, type CniMethodName } from "@antrea/cni";
import { BenchError } from "./error.ts";

/** The network configuration of every call to antrea. */
export const antreaConfig = '{"cniVersion":"1.1.0","name":"antrea","type":"antrea"}';

/** The CNI arguments of one Pod. The UID is that of its API object, if it has one. */
export function podCall(index: number, netns: string, uid?: string): Omit<CniCmdArgs, "networkConfiguration"> {
    const id = index.toString(16);
    return {
        containerId: id.padStart(64, "c"),
        netns,
        ifname: "eth0",
        args: [
            "IgnoreUnknown=1",
            "K8S_POD_NAMESPACE=bench",
            `K8S_POD_NAME=bench-${index}`,
            `K8S_POD_INFRA_CONTAINER_ID=${id.padStart(64, "c")}`,
            `K8S_POD_UID=${uid ?? `00000000-0000-4000-8000-${id.padStart(12, "0")}`}`,
        ].join(";"),
        path: "/opt/cni/bin",
    };
}

/** Calls the agent over one persistent connection. */
export class CniClient implements Disposable {
    readonly #client: Client;

    constructor(socketPath: string) {
        this.#client = new Client(`unix:${socketPath}`, credentials.createInsecure());
    }

    /** The answer as text. Rejects with BenchError on an error of the call or in the answer. */
    async call(
        name: CniMethodName,
        args: Omit<CniCmdArgs, "networkConfiguration">,
        config = antreaConfig,
    ): Promise<string> {
        const method = cniServiceDefinition[name];
        const request = { cniArgs: { ...args, networkConfiguration: new TextEncoder().encode(config) } };
        const response = await new Promise<CniCmdResponse>((resolve, reject) => {
            this.#client.makeUnaryRequest(
                method.path,
                (message) => Buffer.from(method.requestSerialize(message)),
                method.responseDeserialize,
                request,
                (error, value) =>
                    value === undefined
                        ? reject(error ?? new BenchError("CALL_FAILED", "environment", "no answer"))
                        : resolve(value),
            );
        });
        if (response.error === undefined) return new TextDecoder().decode(response.cniResult);
        throw new BenchError("CALL_FAILED", "environment", `${name}: ${response.error.message}`);
    }

    [Symbol.dispose](): void {
        this.#client.close();
    }
}

/** The duration of the work in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
    const begin = performance.now();
    await work();
    return performance.now() - begin;
}
