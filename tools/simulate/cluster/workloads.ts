import { type Deployment, type KubeObject, type Node, type Pod, type StatefulSet } from "@antrea/kube";
import { type ApiServer, keyFor, kindOf } from "../api/server.ts";
import { type Change } from "../api/store.ts";
import { type Random } from "../time/random.ts";
import { type VirtualTime } from "../time/virtual-time.ts";
import { mirroredHash } from "./mirror-pods.ts";

const podKind = kindOf("v1", "pods");
const nodeKind = kindOf("v1", "nodes");
const deploymentKind = kindOf("apps/v1", "deployments");
const setKind = kindOf("apps/v1", "statefulsets");
const user = { name: "system:kube-controller-manager" };
const outOfService = "node.kubernetes.io/out-of-service";

export interface WorkloadsComponents {
    readonly server: ApiServer;
    readonly time: VirtualTime;
    readonly random: Random;
    /** Whether new Pods can be bound to this Node. */
    readonly isSchedulable: (node: Node) => boolean;
}

/**
 * The parts of kube-controller-manager and the scheduler that matter here: Pods of StatefulSets and Deployments,
 * garbage collection, Pods of deleted or out-of-service Nodes. Each reconciles shortly after a change.
 */
export class Workloads {
    readonly #components: WorkloadsComponents;
    readonly #pending = new Set<string>();

    constructor(components: WorkloadsComponents) {
        this.#components = components;
    }

    changed({ kind, key, before, after }: Change): void {
        if (kind === setKind) {
            this.#soon(`set ${key}`, () => this.#set(key));
            const uid = before?.object.metadata?.uid;
            if (after === undefined && uid !== undefined) this.#soon(`orphans ${uid}`, () => this.#collect(uid));
            if (after?.object.metadata?.finalizers?.includes("orphan") === true)
                this.#soon(`orphan ${key}`, () => this.#orphan(key));
        }
        if (kind === deploymentKind) {
            this.#soon(`deployment ${key}`, () => this.#deployment(key));
            const uid = before?.object.metadata?.uid;
            if (after === undefined && uid !== undefined) this.#soon(`orphans ${uid}`, () => this.#collect(uid));
        }
        // The StatefulSet controller waits for the end of a Pod, that of a Deployment does not.
        const ending = after === undefined || after.object.metadata?.deletionTimestamp !== undefined;
        if (kind === podKind && ending) {
            const { namespace = "", ownerReferences } = (after ?? before)?.object.metadata ?? {};
            const [owner] = ownerReferences ?? [];
            const ownerKey = keyFor(namespace, owner?.name ?? "");
            if (owner?.kind === "ReplicaSet") this.#soon(`deployment ${ownerKey}`, () => this.#deployment(ownerKey));
            else if (owner !== undefined && after === undefined)
                this.#soon(`set ${ownerKey}`, () => this.#set(ownerKey));
        }
        if (kind === podKind && after !== undefined && before === undefined) {
            const owner = after.object.metadata?.ownerReferences?.[0];
            if (owner !== undefined)
                this.#soon(`owner ${owner.uid}`, () => this.#collectIfOrphan(after.object, owner.uid));
        }
        if (kind === nodeKind) this.#soon(`node ${key}`, () => this.#node(key));
    }

    /** Reconciles everything. */
    async resync(): Promise<void> {
        const { store } = this.#components.server;
        for (const { object } of [...store.all(setKind)]) await this.#set(keyOf(object));
        for (const { object } of [...store.all(deploymentKind)]) await this.#deployment(keyOf(object));
        for (const { object } of [...store.all(podKind)]) {
            const owner = object.metadata?.ownerReferences?.[0];
            if (owner !== undefined) await this.#collectIfOrphan(object, owner.uid);
        }
        const names = new Set(this.#pods().map(({ spec }) => spec?.nodeName ?? ""));
        for (const name of names) await this.#node(name);
    }

    #soon(what: string, work: () => Promise<void>): void {
        if (this.#pending.has(what)) return;
        this.#pending.add(what);
        const { time, random } = this.#components;
        time.after(random.latency(20, 2_000), () => {
            this.#pending.delete(what);
            void work();
        });
    }

    async #set(key: string): Promise<void> {
        const { store } = this.#components.server;
        const set = store.get(setKind, key)?.object as StatefulSet | undefined;
        if (set === undefined || set.metadata?.deletionTimestamp !== undefined) return;
        const { namespace = "", name = "", uid = "" } = set.metadata ?? {};
        const start = set.spec?.ordinals?.start ?? 0;
        const replicas = set.spec?.replicas ?? 1;
        const own = this.#pods().filter(({ metadata }) =>
            metadata?.ownerReferences?.some((owner) => owner.uid === uid),
        );
        for (const pod of own) {
            const ordinal = Number(pod.metadata?.name?.slice(name.length + 1));
            if (ordinal < start || ordinal >= start + replicas) await this.#delete(pod);
        }
        const owner = { apiVersion: "apps/v1", kind: "StatefulSet", name, uid, controller: true };
        const orphans = this.#pods().filter(({ metadata }) => {
            const isNamed = metadata?.namespace === namespace && /^(.*)-\d+$/.exec(metadata.name ?? "")?.[1] === name;
            return isNamed && (metadata.ownerReferences ?? []).length === 0 && metadata.labels?.app === name;
        });
        for (const pod of orphans) await this.#patch(pod, { metadata: { ownerReferences: [owner] } });
        for (let ordinal = start; ordinal < start + replicas; ordinal += 1) {
            const podName = `${name}-${ordinal}`;
            if (store.get(podKind, keyFor(namespace, podName)) !== undefined) continue;
            const nodeName = this.schedule();
            if (nodeName === undefined) return this.#soon(`set ${key}`, () => this.#set(key));
            const { annotations } = set.spec?.template.metadata ?? {};
            await this.#create({
                metadata: {
                    namespace,
                    name: podName,
                    labels: { app: name },
                    ownerReferences: [owner],
                    ...(annotations && { annotations }),
                },
                spec: { nodeName, containers: [] },
            });
        }
    }

    /** Deployment and ReplicaSet in one: as many Pods as requested, besides terminating ones. */
    async #deployment(key: string): Promise<void> {
        const { store } = this.#components.server;
        const deployment = store.get(deploymentKind, key)?.object as Deployment | undefined;
        if (deployment === undefined || deployment.metadata?.deletionTimestamp !== undefined) return;
        const { namespace = "", name = "", uid = "" } = deployment.metadata ?? {};
        const replicas = deployment.spec?.replicas ?? 1;
        const own = this.#pods().filter(
            ({ metadata }) =>
                metadata?.deletionTimestamp === undefined &&
                metadata?.ownerReferences?.some((owner) => owner.uid === uid) === true,
        );
        for (const pod of own.slice(replicas)) await this.#delete(pod);
        const { annotations } = deployment.spec?.template.metadata ?? {};
        for (let left = replicas - own.length; left > 0; left -= 1) {
            const nodeName = this.schedule();
            if (nodeName === undefined) return this.#soon(`deployment ${key}`, () => this.#deployment(key));
            await this.#create({
                metadata: {
                    namespace,
                    name: `${name}-${this.#components.random.hex(5)}`,
                    labels: { app: name },
                    ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name, uid, controller: true }],
                    ...(annotations && { annotations }),
                },
                spec: { nodeName, containers: [] },
            });
        }
    }

    /** A Node for a new Pod. */
    schedule(): string | undefined {
        const { server, random, isSchedulable } = this.#components;
        const names = [...server.store.all(nodeKind)].flatMap(({ object }) => {
            const { taints = [] } = (object as Node).spec ?? {};
            return taints.length === 0 && isSchedulable(object as Node) ? [object.metadata?.name ?? ""] : [];
        });
        return random.pick(names);
    }

    async #collect(ownerUid: string): Promise<void> {
        for (const pod of this.#pods()) {
            if (pod.metadata?.ownerReferences?.some(({ uid }) => uid === ownerUid) === true) await this.#delete(pod);
        }
    }

    async #collectIfOrphan(pod: KubeObject, uid: string): Promise<void> {
        const { store } = this.#components.server;
        const owners = [...store.all(setKind), ...store.all(deploymentKind), ...store.all(nodeKind)];
        if (!owners.some(({ object }) => object.metadata?.uid === uid)) await this.#delete(pod);
    }

    async #orphan(key: string): Promise<void> {
        const { server } = this.#components;
        const set = server.store.get(setKind, key)?.object;
        if (set?.metadata?.finalizers?.includes("orphan") !== true) return;
        for (const pod of this.#pods()) {
            const isOwn = pod.metadata?.ownerReferences?.some(({ uid }) => uid === set.metadata?.uid);
            if (isOwn === true) await this.#patch(pod, { metadata: { ownerReferences: null } });
        }
        await this.#patch(set, { metadata: { finalizers: null } }, "/apis/apps/v1", "statefulsets");
    }

    /** Deletes Pods of deleted or out-of-service Nodes without a kubelet. */
    async #node(name: string): Promise<void> {
        const { time, random, server } = this.#components;
        const state = (): "gone" | "out" | "there" => {
            const node = server.store.get(nodeKind, name)?.object as Node | undefined;
            if (node === undefined) return "gone";
            return node.spec?.taints?.some(({ key }) => key === outOfService) === true ? "out" : "there";
        };
        if (state() === "there") return;
        await time.sleep(random.between(1_000, 20_000));
        for (const pod of this.#pods().filter(({ spec }) => spec?.nodeName === name)) {
            // Static Pods tolerate every taint.
            if (state() === "gone" || (state() === "out" && mirroredHash(pod) === undefined))
                await this.#delete(pod, 0);
        }
        const isLeft = this.#pods().some((pod) => pod.spec?.nodeName === name && mirroredHash(pod) === undefined);
        if (isLeft && state() !== "there") this.#soon(`node ${name}`, () => this.#node(name));
    }

    #pods(): readonly Pod[] {
        return [...this.#components.server.store.all(podKind)].map(({ object }) => object as Pod);
    }

    async #create(pod: Pod): Promise<void> {
        const body = JSON.stringify({ ...pod, apiVersion: "v1", kind: "Pod" });
        const path = `/api/v1/namespaces/${pod.metadata?.namespace}/pods`;
        await this.#components.server.handle({ method: "POST", path, body }, user);
    }

    async #delete({ metadata }: KubeObject, gracePeriodSeconds?: number): Promise<void> {
        if (metadata?.deletionTimestamp !== undefined && gracePeriodSeconds === undefined) return;
        const path = `/api/v1/namespaces/${metadata?.namespace}/pods/${metadata?.name}`;
        const body = JSON.stringify({ gracePeriodSeconds, preconditions: { uid: metadata?.uid } });
        await this.#components.server.handle({ method: "DELETE", path, body }, user);
    }

    async #patch({ metadata }: KubeObject, patch: unknown, api = "/api/v1", plural = "pods"): Promise<void> {
        const path = `${api}/namespaces/${metadata?.namespace}/${plural}/${metadata?.name}`;
        await this.#components.server.handle({ method: "PATCH", path, body: JSON.stringify(patch) }, user);
    }
}

function keyOf({ metadata }: KubeObject): string {
    return keyFor(metadata?.namespace ?? "", metadata?.name ?? "");
}
