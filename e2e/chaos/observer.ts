import { networksKey, statusKey } from "../fixture/networks.ts";
import { getJson } from "../fixture/objects.ts";
import { type Stage } from "./stage.ts";

interface SeenPod {
    readonly metadata: {
        readonly name: string;
        readonly namespace: string;
        readonly deletionTimestamp?: string;
        readonly annotations?: Readonly<Record<string, string>>;
        readonly ownerReferences?: readonly { readonly kind: string; readonly name: string; readonly uid: string }[];
    };
    readonly spec: { readonly hostNetwork?: boolean };
    readonly status: { readonly phase: string; readonly podIPs?: readonly { readonly ip: string }[] };
}

/**
 * The addresses of all interfaces of a Pod; none while it has none on the Pod network, or requests networks and their status is
 * not written yet.
 */
function addressesOf({ metadata: { annotations = {} }, status }: SeenPod): readonly string[] {
    const own = (status.podIPs ?? []).map(({ ip }) => ip);
    if (own.length === 0 || annotations[networksKey] === undefined) return own;
    const written = annotations[statusKey];
    if (written === undefined) return [];
    const all = JSON.parse(written) as readonly { readonly ips?: readonly string[]; readonly default?: boolean }[];
    return [...own, ...all.filter((one) => one.default !== true).flatMap(({ ips = [] }) => ips)];
}

/** Checks the Pods of the API server: no two have one address, and an ordinal keeps its own. */
export class Observer {
    readonly duplicates = new Set<string>();
    readonly lost = new Set<string>();
    /** Pods that were seen with an address, by name. */
    readonly seen = new Set<string>();
    /** Pods of StatefulSets that were seen more than once. */
    readonly comparedOfSets = new Set<string>();
    polls = 0;
    readonly #stage: Stage;
    /** Of each Pod of a StatefulSet, with the set's uid. */
    readonly #kept = new Map<string, { readonly uid: string; readonly ips: string }>();
    /** Ordinals at and above may get other addresses. */
    readonly #below = new Map<string, number>();

    constructor(stage: Stage) {
        this.#stage = stage;
    }

    /** From now on a set is wanted with so many replicas: what is above is forgotten. */
    scaled(set: string, replicas: number): void {
        this.#below.set(set, replicas);
        for (const pod of this.#kept.keys()) {
            const [, owner, ordinal] = /^(.*)-(\d+)$/.exec(pod) ?? [];
            if (owner === set && Number(ordinal) >= replicas) this.#kept.delete(pod);
        }
    }

    /** Rejects when the API server does not answer. */
    async poll(): Promise<void> {
        const { items } = await getJson<{ items: SeenPod[] }>("pods", { allNamespaces: true, timeoutMs: 5_000 });
        this.polls += 1;
        const living = items.filter(
            ({ metadata, spec, status }) =>
                metadata.deletionTimestamp === undefined &&
                spec.hostNetwork !== true &&
                ["Pending", "Running"].includes(status.phase),
        );
        const owners = new Map<string, string>();
        for (const pod of living) {
            const name = `${pod.metadata.namespace}/${pod.metadata.name}`;
            const ips = addressesOf(pod);
            for (const ip of ips) {
                const other = owners.get(ip);
                if (other !== undefined) this.duplicates.add(`${ip}: ${other} and ${name}`);
                owners.set(ip, name);
            }
            if (ips.length === 0) continue;
            this.seen.add(name);
            this.#keep(pod, ips.join());
        }
    }

    #keep({ metadata }: SeenPod, ips: string): void {
        const owner = metadata.ownerReferences?.find(({ kind }) => kind === "StatefulSet");
        if (metadata.namespace !== this.#stage.namespace.name || owner === undefined) return;
        const ordinal = Number(/\d+$/.exec(metadata.name)?.[0]);
        if (ordinal >= (this.#below.get(owner.name) ?? 0)) return;
        const kept = this.#kept.get(metadata.name);
        if (kept !== undefined && kept.uid === owner.uid) {
            this.comparedOfSets.add(metadata.name);
            if (kept.ips !== ips) this.lost.add(`${metadata.name} had ${kept.ips} and got ${ips}`);
        }
        this.#kept.set(metadata.name, { uid: owner.uid, ips });
    }
}
