import type { Prefix } from "@antrea/ip";
import type { ServiceCidrs } from "../../platform/node-platform.ts";

/** The Service CIDRs of the cluster, and those that were last known while the API server does not answer. */
export class RoutedServiceCidrs {
    readonly #watch: ServiceCidrs;
    #last: readonly Prefix[] | undefined;

    constructor(watch: ServiceCidrs) {
        this.#watch = watch;
    }

    /** Undefined until the API server has answered; empty if the cluster has none. */
    get known(): readonly Prefix[] | undefined {
        return this.#watch.serviceCidrs;
    }

    /** Those of `restore`; undefined without it. */
    get last(): readonly Prefix[] | undefined {
        return this.#last;
    }

    /** Registers a listener, for good, for possible changes of `known`. */
    onChange(listener: () => void): void {
        this.#watch.onServiceCidrs(listener);
    }

    /** Sets those that were last known. */
    restore(last: readonly Prefix[]): void {
        this.#last = last;
    }
}
