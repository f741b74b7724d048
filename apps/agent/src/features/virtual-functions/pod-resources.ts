import { Client, credentials, status } from "@grpc/grpc-js";
import { orAborted, SharedReads, sleep, type Clock } from "@antrea/async";
import { decodePodResources, listPodResourcesPath, type AllocatedDevices } from "./pod-resources-messages.ts";

const deadlineMs = 5_000;
/** The kubelet limits the calls of all its clients together. */
const rateLimitPauseMs = 100;
const maxRateLimited = 20;
/** What the kubelet's own clients accept. */
const maxAnswerBytes = 16 << 20;

/** The kubelet's pod-resources API (v1) on a unix socket: which devices Pods of this Node have. */
export class PodResources {
    readonly #socketPath: string;
    readonly #clock: Clock;
    /** The answer of one that runs may have been given before the Pod of a later caller had its devices. */
    readonly #reads = new SharedReads(() => this.#ask());

    constructor(components: { readonly clock: Clock }, options: { readonly socketPath: string }) {
        this.#clock = components.clock;
        this.#socketPath = options.socketPath;
    }

    /**
     * The devices of all Pods. Callers share requests, each one that began after the call. Rejects with the ServiceError of
     * gRPC if the kubelet does not answer within five seconds, or its answer cannot be read; on abort as `orAborted`.
     */
    list(signal: AbortSignal): Promise<readonly AllocatedDevices[]> {
        return orAborted(this.#reads.get("devices"), signal);
    }

    async #ask(): Promise<readonly AllocatedDevices[]> {
        for (let attempt = 1; ; attempt += 1) {
            try {
                return await this.#askOnce();
            } catch (error) {
                if (!isRateLimited(error) || attempt === maxRateLimited) throw error;
                await sleep(rateLimitPauseMs, undefined, this.#clock);
            }
        }
    }

    /** A connection of its own: a shared one would wait for its backoff after the kubelet was away. */
    #askOnce(): Promise<readonly AllocatedDevices[]> {
        const client = new Client(`unix:${this.#socketPath}`, credentials.createInsecure(), {
            "grpc.max_receive_message_length": maxAnswerBytes,
            "grpc.use_local_subchannel_pool": 1,
        });
        const { promise, resolve, reject } = Promise.withResolvers<readonly AllocatedDevices[]>();
        client.makeUnaryRequest(
            listPodResourcesPath,
            () => Buffer.alloc(0),
            decodePodResources,
            undefined,
            { deadline: Date.now() + deadlineMs },
            (error, answer) => {
                client.close();
                if (error === null) resolve(answer ?? []);
                else reject(error);
            },
        );
        return promise;
    }
}

function isRateLimited(error: unknown): boolean {
    return error instanceof Error && "code" in error && error.code === status.RESOURCE_EXHAUSTED;
}
