import { formatPrefix } from "@antrea/ip";
import { Netlink } from "@antrea/netlink";
import { BenchError } from "../error.ts";

/** rtm_protocol of the agent's routes. */
const routeProtocol = 178;

/** Receives the kernel's events of the agent's routes. */
export class RouteArrivals implements Disposable {
    readonly #stack = new DisposableStack();
    readonly #there = new Set<string>();
    #arrived: () => void = () => undefined;

    constructor() {
        const netlink = this.#stack.use(Netlink.open());
        const subscription = netlink.subscribe(["route"], (event) => {
            if (event.type !== "route" || event.route.protocol !== routeProtocol) return;
            const text = formatPrefix(event.route.dst);
            if (event.deleted) this.#there.delete(text);
            else this.#there.add(text);
            this.#arrived();
        });
        this.#stack.use(subscription);
    }

    /** Resolves with the time at which so many are installed. */
    async all(count: number, limitMs: number): Promise<number> {
        const { promise, resolve, reject } = Promise.withResolvers<number>();
        this.#arrived = () => {
            if (this.#there.size === count) resolve(performance.now());
        };
        const limit = setTimeout(() => {
            reject(new BenchError("NOT_READY", "environment", `${this.#there.size} routes came instead of ${count}`));
        }, limitMs);
        this.#arrived();
        try {
            return await promise;
        } finally {
            clearTimeout(limit);
        }
    }

    [Symbol.dispose](): void {
        this.#stack.dispose();
    }
}
