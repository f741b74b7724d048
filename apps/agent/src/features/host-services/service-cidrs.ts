import { clusterAddresses } from "@antrea/ipam";
import type { Prefix } from "@antrea/ip";
import { Informer, serviceCidrs, type InformerComponents, type ServiceCidr } from "@antrea/kube";
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

/** Watches the ServiceCIDRs of the cluster where nobody else does. The owner starts and closes it. */
export class ServiceCidrWatch implements ServiceCidrs {
    readonly #informer: Informer<ServiceCidr>;

    constructor(components: InformerComponents) {
        this.#informer = new Informer(components, { resource: serviceCidrs });
    }

    get serviceCidrs(): readonly Prefix[] | undefined {
        if (!this.#informer.hasSynced) return undefined;
        return clusterAddresses([], this.#informer.list()).serviceCidrs;
    }

    /** Also called after each list, as the first one may be empty. */
    onServiceCidrs(listener: () => void): void {
        this.#informer.onChange(listener);
        this.#informer.onList(listener);
    }

    /** Starts the watch, once. */
    start(signal: AbortSignal): void {
        this.#informer.start(signal);
    }

    /** Ends it. Never rejects. */
    close(): Promise<void> {
        return this.#informer.close();
    }
}
