import { isKubeError, pods, type KubeObject, type Node, type Pod } from "@antrea/kube";
import { type Transport } from "../api/transport.ts";
import { kindOf } from "../api/server.ts";
import { type Store } from "../api/store.ts";
import { type Counters } from "../check/counters.ts";
import { type Random } from "../time/random.ts";
import { type VirtualTime } from "../time/virtual-time.ts";

/** A file from which kubelet starts a static Pod, without the API server. */
export interface Manifest {
    readonly namespace: string;
    readonly name: string;
    /** Hash of its contents: the UID of the Pod for kubelet and CNI. */
    readonly hash: string;
    readonly annotations: Readonly<Record<string, string>> | undefined;
    /** Earliest time at which kubelet creates the mirror Pod; never: Infinity. */
    readonly mirrorAt: number;
}

export interface MirrorPodsComponents {
    readonly node: string;
    readonly transport: () => Transport;
    readonly store: Store;
    readonly time: VirtualTime;
    readonly random: Random;
    readonly counters: Counters;
    /** The manifests on the Node, by `namespace/name`. */
    readonly manifests: ReadonlyMap<string, Manifest>;
    /** Whether its kubelet runs and is connected. */
    readonly isAble: () => boolean;
}

const podKind = kindOf("v1", "pods");
const nodeKind = kindOf("v1", "nodes");
/** The annotation of mirror Pods. */
export const mirrorAnnotation = "kubernetes.io/config.mirror";
/** The annotation with the hash of the manifest. */
export const hashAnnotation = "kubernetes.io/config.hash";

/** The hash that kubelet uses as UID for the static Pod of this mirror Pod; undefined for other Pods. */
export function mirroredHash({ metadata }: KubeObject): string | undefined {
    return metadata?.annotations?.[mirrorAnnotation] === undefined ? undefined : metadata.annotations[hashAnnotation];
}

/** The mirror Pods of static Pods: kubelet creates, deletes and replaces them, whenever it can. */
export class MirrorPods {
    readonly #components: MirrorPodsComponents;
    /** By key: the manifest whose mirror Pod was created. */
    readonly #made = new Map<string, string>();
    #isPending = false;

    constructor(components: MirrorPodsComponents) {
        this.#components = components;
    }

    /** Schedules a sync of all mirror Pods. */
    changed(): void {
        const { time, random } = this.#components;
        if (this.#isPending) return;
        this.#isPending = true;
        time.after(random.latency(20, 5_000), () => {
            this.#isPending = false;
            void this.#sync();
        });
    }

    async #sync(): Promise<void> {
        const { store, node, manifests, time, isAble } = this.#components;
        const nodeObject = store.get(nodeKind, node)?.object as Node | undefined;
        if (!isAble()) return;
        for (const { object } of [...store.all(podKind)]) {
            const hash = mirroredHash(object);
            if (hash === undefined || (object as Pod).spec?.nodeName !== node) continue;
            const { namespace = "", name = "", uid = "", deletionTimestamp } = object.metadata ?? {};
            if (manifests.get(`${namespace}/${name}`)?.hash === hash && deletionTimestamp === undefined) continue;
            await this.#insist(() =>
                this.#components.transport().api.delete(pods, { namespace, name }, { uid, gracePeriodSeconds: 0 }),
            );
        }
        // Without its Node object kubelet creates none.
        if (nodeObject === undefined) return;
        for (const [key, manifest] of [...manifests]) {
            if (store.get(podKind, key) !== undefined || manifest.mirrorAt === Infinity) continue;
            if (manifest.mirrorAt > time.now) time.after(manifest.mirrorAt - time.now, () => this.changed());
            else await this.#create(key, manifest, nodeObject);
        }
    }

    async #create(key: string, { namespace, name, hash, annotations }: Manifest, owner: Node): Promise<void> {
        const { node, counters, transport } = this.#components;
        const { uid = "" } = owner.metadata ?? {};
        if (this.#made.get(key) === hash) counters.count("static.mirrorAgain");
        this.#made.set(key, hash);
        const pod: Pod = {
            metadata: {
                namespace,
                name,
                annotations: { ...annotations, [mirrorAnnotation]: hash, [hashAnnotation]: hash },
                ownerReferences: [{ apiVersion: "v1", kind: "Node", name: node, uid, controller: true }],
            },
            spec: { nodeName: node, containers: [] },
        };
        await this.#insist(() => transport().api.create(pods, pod));
    }

    /** Runs once; an unfinished request is retried. */
    async #insist(request: () => Promise<unknown>): Promise<void> {
        try {
            await request();
        } catch (error) {
            if (!isKubeError(error, "NOT_FOUND", "CONFLICT")) this.changed();
        }
    }
}
