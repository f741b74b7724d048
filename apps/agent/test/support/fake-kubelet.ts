import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Server, ServerCredentials, type sendUnaryData, type ServerUnaryCall, type status } from "@grpc/grpc-js";
import { MessageWriter } from "@antrea/cni/protobuf";
import type { DeviceId } from "../../src/platform/pod-interfaces/index.ts";
import { listPodResourcesPath } from "../../src/features/virtual-functions/pod-resources-messages.ts";

/** What the kubelet allocated to the one container of a Pod of Namespace default. */
export interface AllocatedPod {
    readonly name: string;
    /** Device names by resource. */
    readonly devices: Readonly<Record<string, readonly string[]>>;
}

/** The pod-resources API of a kubelet, served by gRPC on a unix socket, and a tree as sysfs has it. */
export class FakeKubelet implements AsyncDisposable {
    readonly folder = mkdtempSync(join(tmpdir(), "kubelet-"));
    readonly places = { sysfs: join(this.folder, "sys"), podResourcesSocket: join(this.folder, "kubelet.sock") };
    pods: AllocatedPod[] = [];
    /** Answers of this gRPC status come first. */
    refusals: status[] = [];
    /** Calls that were answered, also those that were refused. */
    calls = 0;
    #server: Server | undefined;

    async start(): Promise<void> {
        const server = new Server();
        const list = (_: ServerUnaryCall<Uint8Array, Uint8Array>, answer: sendUnaryData<Uint8Array>): void => {
            this.calls += 1;
            const refusal = this.refusals.shift();
            if (refusal === undefined) answer(null, encodePods(this.pods));
            else answer({ code: refusal, details: "refused" });
        };
        const identity = (bytes: Uint8Array): Buffer => Buffer.from(bytes);
        server.addService(
            {
                List: {
                    path: listPodResourcesPath,
                    requestStream: false,
                    responseStream: false,
                    requestSerialize: identity,
                    requestDeserialize: identity,
                    responseSerialize: identity,
                    responseDeserialize: identity,
                },
            },
            { List: list },
        );
        await new Promise<void>((resolve, reject) =>
            server.bindAsync(`unix:${this.places.podResourcesSocket}`, ServerCredentials.createInsecure(), (error) =>
                error === null ? resolve() : reject(error),
            ),
        );
        chmodSync(this.places.podResourcesSocket, 0o660);
        this.#server = server;
    }

    stop(): void {
        this.#server?.forceShutdown();
        rmSync(this.places.podResourcesSocket, { force: true });
        this.#server = undefined;
    }

    /** Names the links of a device; none: it has no network driver. */
    setDevice({ bus, id }: DeviceId, ...links: readonly string[]): void {
        const folder = join(this.places.sysfs, "bus", bus, "devices", id);
        rmSync(folder, { recursive: true, force: true });
        mkdirSync(folder, { recursive: true });
        for (const link of links) mkdirSync(join(folder, "net", link), { recursive: true });
        writeFileSync(join(folder, "uevent"), "");
    }

    [Symbol.asyncDispose](): Promise<void> {
        this.stop();
        rmSync(this.folder, { recursive: true, force: true });
        return Promise.resolve();
    }
}

/** A ListPodResourcesResponse. */
export function encodePods(pods: readonly AllocatedPod[]): Uint8Array {
    const response = new MessageWriter();
    for (const { name, devices } of pods) {
        const pod = new MessageWriter();
        pod.text(1, name);
        pod.text(2, "default");
        const container = new MessageWriter();
        container.text(1, "main");
        for (const [resource, ids] of Object.entries(devices)) {
            const allocated = new MessageWriter();
            allocated.text(1, resource);
            for (const id of ids) allocated.text(2, id);
            container.message(2, allocated.finish());
        }
        pod.message(3, container.finish());
        response.message(1, pod.finish());
    }
    return response.finish();
}
