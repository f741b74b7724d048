import { allocationName, type IpAllocation, type IpPool } from "@antrea/crd";
import { parseIp, type Family } from "@antrea/ip";
import { poolsOf, readPool, statefulSetOf } from "@antrea/ipam";
import { type Namespace, type Pod, type StatefulSet } from "@antrea/kube";
import { kindOf } from "../api/server.ts";
import { type Change, type Store } from "../api/store.ts";
import { type Container, type Truth } from "./truth.ts";

const podKind = kindOf("v1", "pods");
const namespaceKind = kindOf("v1", "namespaces");
const setKind = kindOf("apps/v1", "statefulsets");
const poolKind = kindOf("crd.antrea.io/v1alpha2", "ippools");
const allocationKind = kindOf("crd.antrea.io/v1alpha1", "ipallocations");

interface Had {
    readonly ordinal: number;
    readonly address: string;
    readonly pool: string;
}

/**
 * The address of each ordinal of a StatefulSet: it does not change until the StatefulSet is deleted, scaled below the
 * ordinal or names other pools, or the pool no longer contains the address.
 */
export class Sticky {
    readonly #truth: Truth;
    readonly #store: Store;
    /** By `namespace/set`, then ordinal and family. */
    readonly #addresses = new Map<string, Map<string, Had>>();
    /**
     * UIDs of allocations that once were among all addresses of their ordinal, and of those that a Pod or a later
     * StatefulSet took over.
     */
    readonly #whole = new Set<string>();
    readonly #taken = new Set<string>();
    /** UIDs of Pods that had no owner at some time: an address allocated to such a Pod then is the Pod's own. */
    readonly #orphans = new Set<string>();

    constructor(truth: Truth, store: Store) {
        this.#truth = truth;
        this.#store = store;
    }

    /** An ADD returned this address to a container. */
    got({ podNamespace, podName, podUid }: Container, address: string): void {
        const pod = this.#store.get(podKind, `${podNamespace}/${podName}`)?.object as Pod | undefined;
        const allocation = this.#truth.allocations.get(allocationName(parseIp(address)));
        if (pod?.metadata?.uid !== podUid || allocation === undefined) return;
        const place = statefulSetOf({ name: podName, ownerReferences: pod.metadata.ownerReferences ?? [] });
        const key = `${podNamespace}/${place?.name}`;
        const set = this.#store.get(setKind, key)?.object as StatefulSet | undefined;
        if (place === undefined || set === undefined || !covers(set, place.ordinal) || set.metadata?.uid !== place.uid)
            return;
        if (allocation.spec.owner.kind === "Pod" && this.#orphans.has(podUid)) return;
        // A Pod that outlived an earlier StatefulSet of the name may have an address of another pool.
        const { pool } = allocation.spec;
        if (!this.poolsOf(set).includes(pool)) return;
        // Reserved by a writer that had not learned yet that the pool shrank.
        const object = this.#store.get(poolKind, pool)?.object as IpPool | undefined;
        if (object !== undefined && readPool(object).subnetOf(parseIp(address)) === undefined) return;
        const known = this.#addresses.get(key) ?? new Map<string, Had>();
        this.#addresses.set(key, known);
        const family = `${place.ordinal} ${address.includes(":") ? 6 : 4}`;
        const before = known.get(family);
        if (before !== undefined && before.address !== address) {
            this.#truth.violated(
                "sticky stays sticky",
                `${podNamespace}/${podName} had ${before.address} and got ${address}`,
            );
        }
        known.set(family, { ordinal: place.ordinal, address, pool });
    }

    /** A user takes this address from its owner: another may get it. */
    forced(address: string): void {
        for (const known of this.#addresses.values()) {
            for (const [family, had] of [...known]) if (had.address === address) known.delete(family);
        }
    }

    /** Names of the pools that the StatefulSet requests, directly or through its Namespace. */
    poolsOf({ metadata, spec }: StatefulSet): readonly string[] {
        const namespace = this.#store.get(namespaceKind, metadata?.namespace ?? "")?.object as Namespace | undefined;
        return poolsOf(spec?.template.metadata?.annotations, namespace?.metadata?.annotations)?.names ?? [];
    }

    /**
     * A Pod took over the allocation, or a StatefulSet from an earlier one of its name, and its ordinal once had an
     * address of every family: it keeps the remaining ones.
     */
    wasUsed({ metadata: { uid = "" } = {} }: IpAllocation): boolean {
        return this.#taken.has(uid) && this.#whole.has(uid);
    }

    changed({ kind, key, after, before }: Change): void {
        if (kind === allocationKind && after !== undefined)
            this.#claimed(after.object as IpAllocation, before?.object as IpAllocation | undefined);
        if (kind === podKind && after !== undefined) this.#podChanged(after.object as Pod);
        if (kind === poolKind) this.#poolChanged(key, after?.object as IpPool | undefined);
        if (kind === namespaceKind) for (const set of [...this.#addresses.keys()]) this.#forget(set);
        if (kind !== setKind) return;
        const set = after?.object as StatefulSet | undefined;
        if (set?.metadata?.uid !== before?.object.metadata?.uid) this.#addresses.delete(key);
        else this.#forget(key);
    }

    #podChanged({ metadata: { uid = "", name = "", ownerReferences = [] } = {} }: Pod): void {
        if (statefulSetOf({ name, ownerReferences }) === undefined) this.#orphans.add(uid);
    }

    /** Drops what the StatefulSet no longer requests. */
    #forget(key: string): void {
        const known = this.#addresses.get(key);
        const set = this.#store.get(setKind, key)?.object as StatefulSet | undefined;
        if (known === undefined || set === undefined) return void this.#addresses.delete(key);
        const names = this.poolsOf(set);
        for (const [family, { ordinal, pool }] of [...known]) {
            if (!covers(set, ordinal) || !names.includes(pool)) known.delete(family);
        }
    }

    #poolChanged(name: string, object: IpPool | undefined): void {
        const pool = object && readPool(object);
        for (const known of this.#addresses.values()) {
            for (const [family, had] of [...known]) {
                if (had.pool === name && pool?.subnetOf(parseIp(had.address)) === undefined) known.delete(family);
            }
        }
    }

    #claimed({ metadata, spec: { owner, pod } }: IpAllocation, before: IpAllocation | undefined): void {
        const uid = metadata?.uid ?? "";
        if (owner.kind !== "StatefulSet" || owner.interface !== undefined) return;
        const isAdopted = before !== undefined && before.spec.owner.uid !== owner.uid;
        if (pod !== undefined || isAdopted) this.#taken.add(uid);
        if (this.#whole.has(uid)) return;
        const set = this.#store.get(setKind, `${owner.namespace}/${owner.name}`)?.object as StatefulSet | undefined;
        const siblings = [...this.#truth.allocations.values()].filter(
            ({ spec: { owner: other } }) =>
                other.kind === "StatefulSet" &&
                other.name === owner.name &&
                other.namespace === owner.namespace &&
                other.index === owner.index &&
                other.interface === undefined,
        );
        const has = new Set(siblings.map(({ spec: { address } }): Family => (address.includes(":") ? 6 : 4)));
        const wanted = (set === undefined ? [] : this.poolsOf(set)).flatMap((name) => {
            const pool = this.#store.get(poolKind, name)?.object as IpPool | undefined;
            return pool === undefined ? [] : [pool.spec.ipVersion];
        });
        if (wanted.some((family) => !has.has(family))) return;
        for (const one of siblings) this.#whole.add(one.metadata?.uid ?? "");
    }
}

/** Whether the StatefulSet has the ordinal. */
export function covers({ metadata, spec }: StatefulSet, ordinal: number): boolean {
    if (metadata?.deletionTimestamp !== undefined) return false;
    const start = spec?.ordinals?.start ?? 0;
    return ordinal >= start && ordinal < start + (spec?.replicas ?? 1);
}
