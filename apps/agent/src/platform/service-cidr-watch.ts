import { clusterAddresses } from "@antrea/ipam";
import type { Prefix } from "@antrea/ip";
import { Informer, serviceCidrs, type InformerComponents, type ServiceCidr } from "@antrea/kube";
import type { ServiceCidrs } from "./node-platform.ts";
import type { Platform } from "./platform.ts";

/**
 * The watch for interfaces on networks, of an agent without IPPools, whose own watch serves them otherwise. Undefined if the
 * feature gate SecondaryNetwork is disabled. The caller starts and closes it.
 */
export function serviceCidrWatch({
    clock,
    gates,
    kube,
    logger,
}: Pick<Platform, "clock" | "gates" | "kube" | "logger">): ServiceCidrWatch | undefined {
    if (!gates.enabled("SecondaryNetwork")) return undefined;
    return new ServiceCidrWatch({ api: kube.api, clock, logger: logger.child("service-cidrs") });
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
