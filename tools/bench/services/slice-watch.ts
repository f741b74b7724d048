import { endpointSlices, Informer, type ApiClient, type EndpointSlice } from "@antrea/kube";
import { BenchError } from "../error.ts";
import { silent } from "../silent.ts";

/** The lower bound of receiving a change: a plain watch of the EndpointSlices. */
export class SliceWatch implements AsyncDisposable {
    readonly #informer: Informer<EndpointSlice>;
    readonly #waiting = new Map<string, (at: number) => void>();

    private constructor(api: ApiClient) {
        this.#informer = new Informer({ api, logger: silent }, { resource: endpointSlices, transform: slim });
        this.#informer.onChange((_type, _key, { endpoints = [] }) => {
            for (const { addresses, conditions } of endpoints) {
                const [address = ""] = addresses;
                if (conditions?.ready === false) continue;
                this.#waiting.get(address)?.(performance.now());
                this.#waiting.delete(address);
            }
        });
    }

    static async open(api: ApiClient): Promise<SliceWatch> {
        const watch = new SliceWatch(api);
        const never = new AbortController().signal;
        watch.#informer.start(never);
        await watch.#informer.synced(never);
        return watch;
    }

    /**
     * Resolves with the time at which the watch has delivered a ready endpoint with this address. Rejects with BenchError
     * `NOT_READY` after the limit.
     */
    async shows(address: string, limitMs: number): Promise<number> {
        const { promise, resolve, reject } = Promise.withResolvers<number>();
        this.#waiting.set(address, resolve);
        const limit = setTimeout(() => {
            this.#waiting.delete(address);
            reject(new BenchError("NOT_READY", "environment", `the watch did not show the endpoint ${address}`));
        }, limitMs);
        return promise.finally(() => clearTimeout(limit));
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#informer.close();
    }
}

function slim({ metadata, addressType, endpoints = [] }: EndpointSlice): EndpointSlice {
    return {
        ...(metadata && { metadata }),
        addressType,
        endpoints: endpoints.map(({ addresses, conditions }) => ({ addresses, ...(conditions && { conditions }) })),
    };
}
