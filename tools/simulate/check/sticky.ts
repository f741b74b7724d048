import { type Pod, type StatefulSet } from "@antrea/kube";
import { statefulSetOf } from "@antrea/ipam";
import { poolsAnnotation } from "@antrea/crd";
import { kindOf } from "../api/server.ts";
import { type Change, type Store } from "../api/store.ts";
import { type Container, type Truth } from "./truth.ts";

const podKind = kindOf("v1", "pods");
const setKind = kindOf("apps/v1", "statefulsets");

/** Which address each ordinal of a StatefulSet got: until it is deleted or scaled below the ordinal it is no other. */
export class Sticky {
    readonly #truth: Truth;
    readonly #store: Store;
    /** By `namespace/set`, then ordinal and family. */
    readonly #addresses = new Map<string, Map<string, { readonly ordinal: number; readonly address: string }>>();

    constructor(truth: Truth, store: Store) {
        this.#truth = truth;
        this.#store = store;
    }

    /** A container was answered this address. */
    got({ podNamespace, podName, podUid }: Container, address: string): void {
        const pod = this.#store.get(podKind, `${podNamespace}/${podName}`)?.object as Pod | undefined;
        if (pod?.metadata?.uid !== podUid || pod.metadata.annotations?.[poolsAnnotation] === undefined) return;
        const place = statefulSetOf({ name: podName, ownerReferences: pod.metadata.ownerReferences ?? [] });
        const key = `${podNamespace}/${place?.name}`;
        const set = this.#store.get(setKind, key)?.object as StatefulSet | undefined;
        if (place === undefined || set === undefined || !covers(set, place.ordinal) || set.metadata?.uid !== place.uid)
            return;
        const known = this.#addresses.get(key) ?? new Map<string, { ordinal: number; address: string }>();
        this.#addresses.set(key, known);
        const family = `${place.ordinal} ${address.includes(":") ? 6 : 4}`;
        const before = known.get(family);
        if (before !== undefined && before.address !== address) {
            this.#truth.violated(
                "sticky stays sticky",
                `${podNamespace}/${podName} had ${before.address} and got ${address}`,
            );
        }
        known.set(family, { ordinal: place.ordinal, address });
    }

    changed({ kind, key, after, before }: Change): void {
        if (kind !== setKind) return;
        const set = after?.object as StatefulSet | undefined;
        if (set === undefined || set.metadata?.uid !== before?.object.metadata?.uid)
            return void this.#addresses.delete(key);
        const known = this.#addresses.get(key);
        for (const [family, { ordinal }] of [...(known ?? [])]) if (!covers(set, ordinal)) known?.delete(family);
    }
}

function covers({ metadata, spec }: StatefulSet, ordinal: number): boolean {
    if (metadata?.deletionTimestamp !== undefined) return false;
    const start = spec?.ordinals?.start ?? 0;
    return ordinal >= start && ordinal < start + (spec?.replicas ?? 1);
}
