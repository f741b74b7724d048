import { Informer, nodes, type ApiClient, type Node } from "@antrea/kube";
import { silent } from "../silent.ts";
import { type SimulatedPeer } from "./simulated-peers.ts";

/** The lower bound of receiving a change: a plain watch of the Nodes. */
export class BareWatch implements AsyncDisposable {
    readonly #informer: Informer<Node>;
    readonly #waiting = new Map<string, { readonly address: string; readonly done: (at: number) => void }>();

    private constructor(api: ApiClient) {
        this.#informer = new Informer({ api, logger: silent }, { resource: nodes });
        this.#informer.onChange((_type, name, node) => {
            const waiting = this.#waiting.get(name);
            if (waiting === undefined) return;
            if (!node.status?.addresses?.some(({ address }) => address === waiting.address)) return;
            this.#waiting.delete(name);
            waiting.done(performance.now());
        });
    }

    static async open(api: ApiClient): Promise<BareWatch> {
        const watch = new BareWatch(api);
        const never = new AbortController().signal;
        watch.#informer.start(never);
        await watch.#informer.synced(never);
        return watch;
    }

    /** Resolves with the time at which the watch has delivered the peer's addresses. */
    async shows({ name, addresses: [address] }: SimulatedPeer): Promise<number> {
        const { promise, resolve } = Promise.withResolvers<number>();
        this.#waiting.set(name, { address, done: resolve });
        return promise;
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#informer.close();
    }
}
