import { AntreaError } from "@antrea/errors";
import { formatIp } from "@antrea/ip";
import { type KubeObject } from "@antrea/kube";
import { type Store } from "../api/store.ts";
import { type Netns } from "../machine/netns.ts";
import { CniCaller, podNetwork, type CniCallerComponents } from "./cni-caller.ts";
import { MetaPlugin, type Added } from "./meta-plugin.ts";
import { selectionsOf, type Attacher } from "./network-objects.ts";
import { type RuntimeFaults } from "./runtime-faults.ts";

export interface AttachmentsComponents extends CniCallerComponents {
    readonly store: Store;
    readonly faults: () => RuntimeFaults;
    readonly attacher: Attacher;
}

/** The interfaces of containers, as the container runtime has them made and removed: by antrea, or by a meta plugin too. */
export class Attachments {
    readonly #components: AttachmentsComponents;
    readonly #caller: CniCaller;
    readonly #meta: MetaPlugin;

    constructor(components: AttachmentsComponents) {
        this.#components = components;
        this.#caller = new CniCaller(components);
        this.#meta = new MetaPlugin({ ...components, caller: this.#caller });
    }

    /** ADD of the Pod's own interface. */
    addOwn(sandbox: Netns, cancelled?: AbortSignal): Promise<Uint8Array> {
        return this.#caller.call("add", sandbox, undefined, cancelled);
    }

    /**
     * The interfaces on other networks: those that the agent made with the Pod's own, or what the meta plugin attaches.
     * `pod`: undefined if it cannot be read.
     */
    async addOthers(sandbox: Netns, pod: KubeObject["metadata"], cancelled: AbortSignal): Promise<readonly Added[]> {
        const { attacher } = this.#components;
        if (attacher !== "meta plugin") return endsOf(sandbox);
        if (pod === undefined) throw new PodUnknown();
        return this.#meta.add(sandbox, selectionsOf(pod.annotations, attacher), cancelled);
    }

    /** DEL of all interfaces of a container. */
    async delete(sandbox: Netns): Promise<void> {
        const { random, counters, attacher, faults } = this.#components;
        const isOwnFirst = attacher === "meta plugin" && random.chance(faults().ownFirst);
        if (isOwnFirst) {
            counters.count("runtime.ownFirst");
            await this.#caller.call("del", sandbox);
        }
        await this.#meta.delete(sandbox);
        if (!isOwnFirst) await this.#caller.call("del", sandbox);
    }

    /** CHECK of all interfaces of a container. */
    async check(sandbox: Netns): Promise<void> {
        const failed = (): void => this.#components.counters.count("cni.checkFailed");
        await this.#caller.call("check", sandbox).catch(failed);
        await this.#meta.check(sandbox).catch(failed);
    }

    /** GC, with the current attachments: of the Pod network, and of those of a meta plugin. */
    async collect(): Promise<void> {
        const containers = [...this.#components.machine.netns.values()].map(({ container }) => container.id);
        await this.#caller.collect(
            podNetwork,
            containers.map((container) => ({ container, ifName: "eth0" })),
        );
        await this.#meta.collect();
    }
}

function endsOf({ ends }: Netns): readonly Added[] {
    const others = [...ends.values()].filter(({ ifName }) => ifName !== "eth0");
    return others.map(({ ifName, addresses }) => ({ ifName, addresses: addresses.map(formatIp) }));
}

class PodUnknown extends AntreaError<"POD_UNKNOWN"> {
    constructor() {
        super("POD_UNKNOWN", "environment", "the Pod cannot be read, or is gone");
    }
}
