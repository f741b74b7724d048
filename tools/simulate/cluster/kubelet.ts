import { messageOf } from "@antrea/errors";
import { isKubeError, pods, type KubeObject, type Pod } from "@antrea/kube";
import { type Transport } from "../api/transport.ts";
import { kindOf } from "../api/server.ts";
import { type Change, type Store } from "../api/store.ts";
import { type Counters } from "../check/counters.ts";
import { type Container, type Truth } from "../check/truth.ts";
import { type Machine } from "../machine/machine.ts";
import { type Netns } from "../machine/netns.ts";
import { type Random } from "../time/random.ts";
import { type VirtualTime } from "../time/virtual-time.ts";
import { AgentAway, type Agent } from "./agent.ts";
import { Attachments } from "./attachments.ts";
import { isReadAs, type Added } from "./meta-plugin.ts";
import { mirroredHash, MirrorPods, type Manifest } from "./mirror-pods.ts";
import { isStatic, type Attacher } from "./network-objects.ts";
import { type RuntimeFaults } from "./runtime-faults.ts";

export interface KubeletComponents {
    readonly machine: Machine;
    readonly transport: () => Transport;
    readonly agent: () => Agent | undefined;
    readonly store: Store;
    readonly truth: Truth;
    /** An ADD returned this address: from now on only this container has it. */
    readonly answered: (container: Container, address: string) => void;
    /** All ADDs of a container have returned; `isAttaching`: its agent attaches the networks that Pods request. */
    readonly attached: (netns: Netns, ofNetworks: readonly Added[], isAttaching: boolean) => void;
    readonly attacher: Attacher;
    readonly time: VirtualTime;
    readonly random: Random;
    readonly counters: Counters;
    readonly faults: () => RuntimeFaults;
    /** The Node is partitioned from the API server. */
    readonly isCut: () => boolean;
    readonly step: (what: () => string) => void;
}

const podKind = kindOf("v1", "pods");
interface Worker {
    readonly uid: string;
    readonly namespace: string;
    readonly name: string;
    readonly isStatic: boolean;
    sandbox: Netns | undefined;
    /** The addresses of its sandbox. */
    addresses: readonly string[];
    /** Its interfaces on other networks. */
    ofNetworks: readonly Added[];
    /** Its earlier sandbox is being removed. */
    isEnding: boolean;
    wake: () => void;
}

/** An interface of a running Pod, with those of its addresses that it does not list itself. */
export interface RunningInterface extends Added {
    readonly uid: string;
    readonly container: string;
}

/** kubelet and the container runtime of one Node, with the faults of real ones. */
export class Kubelet {
    readonly #components: KubeletComponents;
    /** The manifests of static Pods on the machine's disk, by `namespace/name`. */
    readonly manifests = new Map<string, Manifest>();
    readonly #mirrors: MirrorPods;
    readonly #attachments: Attachments;
    readonly #workers = new Map<string, Worker>();
    /** Incremented when the machine stops: earlier work is cancelled. */
    #life = 0;
    #containers = 0;

    constructor(components: KubeletComponents) {
        this.#components = components;
        const { machine, isCut } = components;
        const isAble = (): boolean => machine.isOn && !isCut();
        this.#mirrors = new MirrorPods({ ...components, node: machine.name, manifests: this.manifests, isAble });
        this.#attachments = new Attachments(components);
    }

    /** The interfaces of Pods on this Node. */
    get running(): readonly RunningInterface[] {
        return [...this.#workers.values()].flatMap(({ uid, sandbox, addresses, ofNetworks }) => {
            if (sandbox === undefined || addresses.length === 0) return [];
            const all = [{ ifName: "eth0", addresses }, ...ofNetworks];
            return all.map(({ ifName, addresses: ofInterface }) => ({
                ifName,
                addresses: ofInterface.filter((address) => !isStatic(address)),
                uid,
                container: sandbox.container.id,
            }));
        });
    }

    /** Pods that wait for their network on this Node. */
    get waiting(): readonly string[] {
        return [...this.#workers.values()].filter(({ addresses }) => addresses.length === 0).map(({ uid }) => uid);
    }

    changed(change: Change): void {
        if (change.kind !== podKind) return;
        const pod = (change.after ?? change.before)?.object as Pod | undefined;
        if (pod?.spec?.nodeName !== this.#components.machine.name) return;
        if (mirroredHash(pod) !== undefined) return this.#mirrors.changed();
        const life = this.#life;
        const { time, random } = this.#components;
        time.after(random.latency(5, 400), () => {
            if (life === this.#life) this.#syncPod(pod.metadata?.uid ?? "", pod);
        });
    }

    /** Syncs all its Pods, as after a start or when the API server is available again. */
    resync(): void {
        for (const { object } of this.#components.store.all(podKind)) {
            const pod = object as Pod;
            if (pod.spec?.nodeName === this.#components.machine.name && mirroredHash(pod) === undefined)
                this.#syncPod(pod.metadata?.uid ?? "", pod);
        }
        this.#syncManifests();
        for (const worker of this.#workers.values()) worker.wake();
    }

    /** The machine stopped. */
    stop(): void {
        this.#life += 1;
        this.#workers.clear();
    }

    /** A user writes a manifest. */
    place(manifest: Manifest): void {
        this.manifests.set(`${manifest.namespace}/${manifest.name}`, manifest);
        this.#syncManifests();
    }

    remove(key: string): void {
        this.manifests.delete(key);
        this.#syncManifests();
    }

    /** The sandbox of a random Pod dies; kubelet creates another one. */
    killSandbox(): boolean {
        const worker = this.#components.random.pick([...this.#workers.values()].filter(({ sandbox }) => sandbox));
        if (worker?.sandbox === undefined) return false;
        const old = worker.sandbox;
        worker.sandbox = undefined;
        worker.addresses = [];
        worker.ofNetworks = [];
        const life = this.#life;
        void this.#replace(worker, old, () => life === this.#life);
        return true;
    }

    /** No next sandbox is made while a meta plugin removes the interfaces of this one, as real kubelets do. */
    async #replace(worker: Worker, old: Netns, alive: () => boolean): Promise<void> {
        const isOver = this.#tearDown(old, alive);
        if (this.#components.attacher === "meta plugin") {
            worker.isEnding = true;
            await isOver;
            worker.isEnding = false;
        }
        worker.wake();
    }

    /** CNI GC, with the current attachments. */
    collect(): Promise<void> {
        return this.#attachments.collect();
    }

    /** CHECK of a running container. */
    async check(): Promise<void> {
        const { random } = this.#components;
        const worker = random.pick([...this.#workers.values()].filter(({ addresses }) => addresses.length > 0));
        if (worker?.sandbox !== undefined) await this.#attachments.check(worker.sandbox);
    }

    #syncPod(uid: string, pod: Pod): void {
        if (this.#components.isCut() || !this.#components.machine.isOn) return;
        const known = this.#workers.get(uid);
        if (known !== undefined) return known.wake();
        // One that is being deleted still has to be removed from the API server.
        if (this.#live(pod)?.uid !== uid) return;
        const { namespace = "", name = "" } = pod.metadata ?? {};
        this.#begin({ uid, namespace, name, isStatic: false });
    }

    /** A static Pod starts when the previous one of its name has ended, independent of the API server. */
    #syncManifests(): void {
        if (!this.#components.machine.isOn) return;
        const workers = [...this.#workers.values()].filter(({ isStatic }) => isStatic);
        for (const worker of workers) worker.wake();
        for (const { namespace, name, hash } of this.manifests.values()) {
            if (workers.some((worker) => worker.namespace === namespace && worker.name === name)) continue;
            this.#begin({ uid: hash, namespace, name, isStatic: true });
        }
        this.#mirrors.changed();
    }

    #begin(pod: Pick<Worker, "uid" | "namespace" | "name" | "isStatic">): void {
        const worker: Worker = {
            ...pod,
            sandbox: undefined,
            addresses: [],
            ofNetworks: [],
            isEnding: false,
            wake: () => undefined,
        };
        this.#workers.set(pod.uid, worker);
        void this.#work(worker);
    }

    #isWanted({ uid, namespace, name, isStatic }: Worker): boolean {
        if (isStatic) return this.manifests.get(`${namespace}/${name}`)?.hash === uid;
        // Without a connection the last known state counts.
        return this.#components.isCut() || this.#wants(uid, { metadata: { namespace, name } });
    }

    /** Whether the Pod is to run here, according to the API server. */
    #wants(uid: string, pod: Pod): boolean {
        const live = this.#live(pod);
        return live?.uid === uid && live.deletionTimestamp === undefined;
    }

    #live({ metadata }: Pod): Pod["metadata"] {
        return this.#components.store.get(podKind, `${metadata?.namespace}/${metadata?.name}`)?.object.metadata;
    }

    async #work(worker: Worker): Promise<void> {
        const { time, random } = this.#components;
        const life = this.#life;
        const alive = (): boolean => life === this.#life;
        let backoff = 500;
        while (alive()) {
            if (!this.#isWanted(worker)) break;
            if (worker.sandbox === undefined && !worker.isEnding) {
                await this.#start(worker, alive);
                if (!alive()) return;
                if (worker.sandbox === undefined) {
                    await Promise.race([time.sleep(random.between(backoff / 2, backoff)), woken(worker)]);
                    backoff = Math.min(backoff * 2, 16_000);
                    continue;
                }
                backoff = 500;
                continue;
            }
            await woken(worker);
        }
        if (!alive()) return;
        const { sandbox } = worker;
        worker.sandbox = undefined;
        worker.addresses = [];
        worker.ofNetworks = [];
        if (sandbox !== undefined) await this.#tearDown(sandbox, alive);
        if (!alive()) return;
        if (!worker.isStatic) await this.#removePod(worker, alive);
        if (!alive()) return;
        this.#workers.delete(worker.uid);
        if (worker.isStatic) this.#syncManifests();
    }

    async #start(worker: Worker, alive: () => boolean): Promise<void> {
        const { machine, random, time, counters, faults } = this.#components;
        const { uid: podUid, namespace: podNamespace, name: podName } = worker;
        this.#containers += 1;
        const id = `${machine.name}-${machine.boots}-${this.#containers}`;
        const since = this.#components.store.version;
        const container: Container = { id, node: machine.name, podNamespace, podName, podUid, since };
        const sandbox = machine.addNetns(container);
        const giveUp = new AbortController();
        const { cancelAdd, repeat, delOvertakes } = faults();
        if (random.chance(cancelAdd)) {
            time.after(random.latency(1, 30_000), () => {
                if (worker.sandbox !== sandbox) counters.count("runtime.cancelAdd");
                giveUp.abort();
            });
        }
        if (random.chance(repeat)) {
            counters.count("runtime.repeatAdd");
            time.after(random.latency(1, 2_000), () => void this.#attachments.addOwn(sandbox).catch(() => undefined));
        }
        if (random.chance(delOvertakes)) {
            time.after(random.latency(1, 500), () => {
                // A sandbox whose ADD was answered is torn down like any other.
                if (worker.sandbox === sandbox || !alive()) return;
                counters.count("runtime.delOvertakes");
                giveUp.abort();
                void this.#attachments.delete(sandbox).catch(() => undefined);
            });
        }
        try {
            const isAttaching = this.#components.agent()?.attachesNetworks === true;
            const result = await this.#attachments.addOwn(sandbox, giveUp.signal);
            const attached = await this.#attachments.addOthers(sandbox, this.#readPod(worker), giveUp.signal);
            if (!alive()) return;
            if (giveUp.signal.aborted || !machine.netns.has(sandbox.path)) return await this.#tearDown(sandbox, alive);
            const { ips = [] } = JSON.parse(new TextDecoder().decode(result)) as {
                readonly ips?: readonly { readonly address: string }[];
            };
            worker.sandbox = sandbox;
            worker.addresses = ips.map(({ address }) => address.split("/")[0] ?? "");
            for (const address of worker.addresses) this.#components.answered(container, address);
            worker.ofNetworks = attached;
            this.#components.attached(sandbox, attached, isAttaching);
            void this.#publish(worker, alive);
        } catch (error) {
            this.#components.step(() => `kubelet ${machine.name}: ADD ${id} failed: ${messageOf(error)}`);
            if (alive()) await this.#tearDown(sandbox, alive);
        }
    }

    /** DEL, then removal of the namespace, or a faulty order. */
    async #tearDown(sandbox: Netns, alive: () => boolean): Promise<void> {
        const { machine, random, time, counters, faults } = this.#components;
        const { lateDel, noDel, earlyEnd, repeat } = faults();
        if (random.chance(noDel)) {
            counters.count("runtime.noDel");
            return machine.endNetns(sandbox.path);
        }
        if (random.chance(lateDel)) {
            counters.count("runtime.lateDel");
            time.after(random.between(500, 90_000), () => {
                if (alive()) void this.#attachments.delete(sandbox).catch(() => undefined);
            });
            return machine.endNetns(sandbox.path);
        }
        if (random.chance(earlyEnd)) {
            counters.count("runtime.earlyEnd");
            machine.endNetns(sandbox.path);
        }
        if (random.chance(repeat)) {
            counters.count("runtime.repeatDel");
            time.after(random.latency(1, 5_000), () => {
                if (alive()) void this.#attachments.delete(sandbox).catch(() => undefined);
            });
        }
        for (let tries = 0; alive(); tries += 1) {
            try {
                await this.#attachments.delete(sandbox);
                break;
            } catch (error) {
                if (!(error instanceof AgentAway)) {
                    this.#components.truth.violated(
                        "DEL never fails",
                        `DEL of ${sandbox.container.id}: ${messageOf(error)}`,
                    );
                }
                // Without the agent the runtime retries for a while, then gives up.
                if (tries === 5) break;
                await time.sleep(random.between(500, 5_000));
            }
        }
        if (alive()) machine.endNetns(sandbox.path);
    }

    /** What a meta plugin reads of a Pod; undefined if it cannot. */
    #readPod({ namespace, name, uid }: Worker): KubeObject["metadata"] {
        const metadata = this.#components.isCut() ? undefined : this.#live({ metadata: { namespace, name } });
        return metadata !== undefined && isReadAs({ metadata }, uid) ? metadata : undefined;
    }

    async #publish(worker: Worker, alive: () => boolean): Promise<void> {
        const { namespace, name, isStatic, addresses, sandbox } = worker;
        const uid = isStatic ? this.#live({ metadata: { namespace, name } })?.uid : worker.uid;
        if (uid === undefined) return;
        const status = { phase: "Running", podIPs: addresses.map((ip) => ({ ip })), podIP: addresses[0] };
        const patch = { type: "merge", body: { metadata: { uid }, status } } as const;
        await this.#insist(
            () => this.#components.transport().api.patch(pods, { namespace, name }, patch, { subresource: "status" }),
            () => alive() && worker.sandbox === sandbox,
        );
    }

    async #removePod({ namespace, name, uid }: Worker, alive: () => boolean): Promise<void> {
        const o = { uid, gracePeriodSeconds: 0 };
        await this.#insist(() => this.#components.transport().api.delete(pods, { namespace, name }, o), alive);
    }

    /** Retries until the API server gives a conclusive response. */
    async #insist(request: () => Promise<unknown>, alive: () => boolean): Promise<void> {
        const { time, random } = this.#components;
        while (alive()) {
            try {
                await request();
                return;
            } catch (error) {
                if (isKubeError(error, "NOT_FOUND", "CONFLICT", "INVALID")) return;
                await time.sleep(random.between(500, 3_000));
            }
        }
    }
}

function woken(worker: Worker): Promise<void> {
    return new Promise((resolve) => (worker.wake = resolve));
}
