import { macAnnotation } from "@antrea/crd";
import { type IpAddress } from "@antrea/ip";
import { clusterAddresses, type ClusterAddresses } from "@antrea/ipam";
import { Informer, nodes, serviceCidrs, slimNode, type Node, type ServiceCidr } from "@antrea/kube";
import { type CacheComponents } from "./types.ts";

/** What pools are validated against, besides other pools: the addresses that the cluster itself uses. */
export interface KnownAddresses extends ClusterAddresses {
    /** The addresses of the Nodes in bridging mode, which are annotated with their MAC address. */
    readonly bridgedNodes: readonly IpAddress[];
}

/**
 * The addresses that the cluster itself uses: of Nodes, of their Pods (podCIDRs), of Services. Incomplete until the
 * `informers`, which the owner starts and closes, are synced.
 */
export class AddressCache {
    readonly informers: readonly [Informer<Node>, Informer<ServiceCidr>];
    readonly #listeners = new Set<() => void>();
    #current: KnownAddresses | undefined;

    constructor(components: CacheComponents) {
        const ofNodes = new Informer<Node>(components, {
            resource: nodes,
            transform: (node) => slimNode(node, { annotations: [macAnnotation] }),
        });
        const ofServices = new Informer<ServiceCidr>(components, { resource: serviceCidrs });
        // Kubelets update their Nodes frequently; few updates change addresses.
        const addressFields = (object: Node | ServiceCidr): string =>
            JSON.stringify([object.spec, addressesText(object), isBridged(object)]);
        ofNodes.onChange((type, _name, node, old) => {
            if (type !== "updated" || old === undefined || addressFields(node) !== addressFields(old)) this.#changed();
        });
        ofServices.onChange(() => this.#changed());
        this.informers = [ofNodes, ofServices];
    }

    /** The addresses as known now; the same object until something changes. */
    get current(): KnownAddresses {
        const [ofNodes, ofServices] = this.informers;
        return (this.#current ??= {
            ...clusterAddresses(ofNodes.list(), ofServices.list()),
            bridgedNodes: clusterAddresses(ofNodes.list().filter(isBridged)).nodeAddresses.flat(),
        });
    }

    /** Calls the listener synchronously when `current` has changed, until disposed of. */
    onChange(listener: () => void): Disposable {
        this.#listeners.add(listener);
        return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
    }

    #changed(): void {
        this.#current = undefined;
        for (const listener of this.#listeners) listener();
    }
}

function addressesText(object: Node | ServiceCidr): unknown {
    return object.status !== undefined && "addresses" in object.status ? object.status.addresses : undefined;
}

function isBridged({ metadata }: Node | ServiceCidr): boolean {
    return metadata?.annotations?.[macAnnotation] !== undefined;
}
