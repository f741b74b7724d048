import { allocationName, type IpPool } from "@antrea/crd";
import { parseIp } from "@antrea/ip";
import { readPool, statefulSetOf } from "@antrea/ipam";
import {
    networkAttachmentDefinitions,
    type NetworkAttachmentDefinition,
    type Pod,
    type StatefulSet,
} from "@antrea/kube";
import { kindOf } from "../api/server.ts";
import { type Change, type Store } from "../api/store.ts";
import { readNetwork, selectionsOf, type Attacher } from "../cluster/network-objects.ts";
import { covers } from "./sticky.ts";
import { type Container, type Truth } from "./truth.ts";

const podKind = kindOf("v1", "pods");
const setKind = kindOf("apps/v1", "statefulsets");
const poolKind = kindOf("crd.antrea.io/v1alpha2", "ippools");
const networkKind = kindOf("k8s.cni.cncf.io/v1", networkAttachmentDefinitions.plural);

interface Had {
    readonly ordinal: number;
    readonly ifName: string;
    readonly network: string;
    readonly address: string;
    readonly pool: string;
}

/**
 * The addresses of each ordinal of a StatefulSet on interfaces of other networks, one for each pool: they do not change
 * until the StatefulSet is deleted or scaled below the ordinal, the network names other pools, or the pool no longer
 * contains the address.
 */
export class StickyNetworks {
    readonly #components: { readonly truth: Truth; readonly store: Store };
    readonly #attacher: Attacher;
    /** By `namespace/set`, then ordinal, interface and pool. */
    readonly #addresses = new Map<string, Map<string, Had>>();

    constructor(
        components: { readonly truth: Truth; readonly store: Store },
        { attacher }: { readonly attacher: Attacher },
    ) {
        this.#components = components;
        this.#attacher = attacher;
    }

    /** An ADD returned this address to an interface of a container. */
    got({ podNamespace, podName, podUid }: Container, ifName: string, address: string): void {
        const { store, truth } = this.#components;
        const pod = store.get(podKind, `${podNamespace}/${podName}`)?.object as Pod | undefined;
        const allocation = truth.allocations.get(allocationName(parseIp(address)));
        if (pod?.metadata?.uid !== podUid || allocation?.spec.owner.interface !== ifName) return;
        const place = statefulSetOf({ name: podName, ownerReferences: pod.metadata.ownerReferences ?? [] });
        const key = `${podNamespace}/${place?.name}`;
        const set = store.get(setKind, key)?.object as StatefulSet | undefined;
        if (place === undefined || set?.metadata?.uid !== place.uid || !covers(set, place.ordinal)) return;
        const network = selectionsOf(pod.metadata.annotations, this.#attacher).find((one) => one.ifName === ifName);
        const { pool } = allocation.spec;
        if (network === undefined || !this.#isListed(network.network, pool) || !this.#isIn(pool, address)) return;
        const known = this.#addresses.get(key) ?? new Map<string, Had>();
        this.#addresses.set(key, known);
        const which = `${place.ordinal} ${ifName} ${pool}`;
        const before = known.get(which);
        if (before !== undefined && before.address !== address) {
            const text = `${ifName} of ${podNamespace}/${podName} had ${before.address} and got ${address}`;
            truth.violated("sticky stays sticky on every interface", text);
        }
        known.set(which, { ordinal: place.ordinal, ifName, network: network.network, address, pool });
    }

    /** A user takes this address from its owner: another may get it. */
    forced(address: string): void {
        this.#drop((had) => had.address === address);
    }

    changed({ kind, key, before, after }: Change): void {
        if (kind === networkKind && after !== undefined)
            this.#drop(({ network, pool }) => network === key && !this.#isListed(key, pool));
        if (kind === poolKind) this.#drop(({ pool, address }) => pool === key && !this.#isIn(pool, address));
        if (kind !== setKind) return;
        const set = after?.object as StatefulSet | undefined;
        if (set === undefined || set.metadata?.uid !== before?.object.metadata?.uid) this.#addresses.delete(key);
        else this.#drop(({ ordinal }, of) => of === key && !covers(set, ordinal));
    }

    #drop(isOver: (had: Had, set: string) => boolean): void {
        for (const [set, known] of this.#addresses)
            for (const [which, had] of [...known]) if (isOver(had, set)) known.delete(which);
    }

    #isListed(network: string, pool: string): boolean {
        const object = this.#components.store.get(networkKind, network)?.object;
        return object !== undefined && readNetwork(object as NetworkAttachmentDefinition).pools.includes(pool);
    }

    #isIn(pool: string, address: string): boolean {
        const object = this.#components.store.get(poolKind, pool)?.object as IpPool | undefined;
        return object !== undefined && readPool(object).subnetOf(parseIp(address)) !== undefined;
    }
}
