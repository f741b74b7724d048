import { networkAttachmentDefinitions, type NetworkAttachmentDefinition, type Pod } from "@antrea/kube";
import { kindOf } from "../api/server.ts";
import { type Change, type Store } from "../api/store.ts";
import { type Added } from "../cluster/meta-plugin.ts";
import { mirroredHash } from "../cluster/mirror-pods.ts";
import {
    isStatic,
    readNetwork,
    selectionsOf,
    type Attacher,
    type Network,
    type Selection,
} from "../cluster/network-objects.ts";
import { type Netns } from "../machine/netns.ts";
import { StickyNetworks } from "./sticky-networks.ts";
import { type Container, type Truth } from "./truth.ts";
import { type SetUp, type Wirings } from "./wiring.ts";

const podKind = kindOf("v1", "pods");
const networkKind = kindOf("k8s.cni.cncf.io/v1", networkAttachmentDefinitions.plural);

export interface NetworksComponents {
    readonly truth: Truth;
    readonly store: Store;
    readonly wirings: Wirings;
}

/** A network between two writes; undefined: it did not exist. */
interface Definition {
    readonly network: Network | undefined;
    until: number;
}

/**
 * The interfaces of Pods on other networks than the Pod network: a Pod runs with all that it requests, each with an
 * address of every pool and in the VLAN that its network had at some time since the container was made.
 */
export class Networks {
    readonly sticky: StickyNetworks;
    readonly #components: NetworksComponents;
    readonly #attacher: Attacher;
    /** By `namespace/name`, oldest first. */
    readonly #definitions = new Map<string, Definition[]>();

    constructor(components: NetworksComponents, { attacher }: { readonly attacher: Attacher }) {
        this.#components = components;
        this.#attacher = attacher;
        this.sticky = new StickyNetworks(components, { attacher });
    }

    changed(change: Change): void {
        const { kind, key, version, after } = change;
        this.sticky.changed(change);
        if (kind !== networkKind) return;
        const known = this.#definitions.get(key) ?? [];
        const last = known.at(-1);
        if (last !== undefined) last.until = version;
        const network = after && readNetwork(after.object as NetworkAttachmentDefinition);
        this.#definitions.set(key, [...known, { network, until: Infinity }]);
    }

    /** The interface has traffic by a port in this VLAN. */
    wired(container: Container, setUp: SetUp, vlan: number): void {
        const { addresses } = setUp;
        const ifName = setUp.ifName ?? "";
        if (addresses.length === 0) return;
        const network = this.#selections(container)?.find((one) => one.ifName === ifName)?.network;
        const vlans = network === undefined ? undefined : this.#since(container, network).map((one) => one?.vlan ?? 0);
        this.#components.wirings.wiredNetwork(container, setUp, vlan, vlans);
    }

    /** All ADDs of a container have returned, with these interfaces on other networks. */
    attached({ container }: Netns, added: readonly Added[], isAttaching: boolean): void {
        for (const { ifName, addresses } of added)
            for (const address of addresses.filter((one) => !isStatic(one)))
                this.sticky.got(container, ifName, address);
        if (this.#attacher === "antrea" && !isAttaching) return;
        for (const { ifName, network } of this.#selections(container) ?? []) {
            const made = added.find((one) => one.ifName === ifName);
            const possible = this.#since(container, network);
            if (!possible.some((one) => this.#fits(made, one))) {
                const got = made === undefined ? "nothing" : `${made.addresses.length} addresses`;
                this.#components.truth.violated(
                    "a Pod runs with all its networks, or does not start",
                    `container ${container.id} of Pod ${container.podNamespace}/${container.podName} on ${container.node} has ${got} for ${ifName} on ${network}, which is ${JSON.stringify(possible)}`,
                );
            }
        }
    }

    #fits(made: Added | undefined, network: Network | undefined): boolean {
        if (network === undefined) return false;
        const isOurs = this.#attacher === "meta plugin" || network.type === "antrea";
        if (!isOurs) return made === undefined;
        // Static addresses, and requested ones outside of its pools, are in addition.
        return made !== undefined && made.addresses.length >= network.pools.length;
    }

    /** Undefined: the Pod is gone, or has no object yet. */
    #selections({ podNamespace, podName, podUid }: Container): readonly Selection[] | undefined {
        const pod = this.#components.store.get(podKind, `${podNamespace}/${podName}`)?.object as Pod | undefined;
        if (pod === undefined || (mirroredHash(pod) ?? pod.metadata?.uid) !== podUid) return undefined;
        return selectionsOf(pod.metadata?.annotations, this.#attacher);
    }

    /** What the network has been since the container was made. */
    #since({ since }: Container, network: string): readonly (Network | undefined)[] {
        const definitions = (this.#definitions.get(network) ?? []).filter(({ until }) => until > since);
        return definitions.map((one) => one.network);
    }
}
