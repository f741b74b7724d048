import { type Informer, type KubeObject } from "@antrea/kube";
import { type LifecyclePart } from "@antrea/runtime";
import { AddressBook } from "./addresses.ts";
import { PoolBook, type PoolBookComponents } from "./pools.ts";
import { UserBook } from "./users.ts";

export type ClusterBookComponents = PoolBookComponents;

/** What the rules ask of the cluster, kept at hand: pools, who names them, and the addresses of the cluster itself. */
export class ClusterBook {
    readonly pools: PoolBook;
    readonly users: UserBook;
    readonly addresses: AddressBook;
    readonly part: LifecyclePart;
    readonly #informers: readonly Pick<Informer<KubeObject>, "start" | "close" | "hasSynced">[];

    constructor(components: ClusterBookComponents) {
        this.pools = new PoolBook(components);
        this.users = new UserBook(components);
        this.addresses = new AddressBook(components);
        this.#informers = [this.pools.informer, ...this.addresses.informers, ...this.users.informers];
        this.part = {
            name: "cluster",
            // Does not wait: before the first list the webhook says that it cannot decide.
            start: (signal) => {
                for (const informer of this.#informers) informer.start(signal);
            },
            stop: async () => {
                await Promise.all(this.#informers.map((informer) => informer.close()));
            },
        };
    }

    get hasSynced(): boolean {
        return this.#informers.every((informer) => informer.hasSynced);
    }
}
