import { networkAttachmentDefinitions, type KubeObject, type NetworkAttachmentDefinition } from "@antrea/kube";
import { AntreaError } from "@antrea/errors";
import { parseIp } from "@antrea/ip";
import { kindOf } from "../api/server.ts";
import { type Store } from "../api/store.ts";
import { type Counters } from "../check/counters.ts";
import { type Machine } from "../machine/machine.ts";
import { type Netns } from "../machine/netns.ts";
import { type Random } from "../time/random.ts";
import { type CniCaller, type CniConfig } from "./cni-caller.ts";
import { mirroredHash } from "./mirror-pods.ts";
import { readNetwork, type Network, type Selection } from "./network-objects.ts";
import { type RuntimeFaults } from "./runtime-faults.ts";

export interface MetaPluginComponents {
    readonly caller: CniCaller;
    readonly machine: Machine;
    readonly store: Store;
    readonly random: Random;
    readonly counters: Counters;
    readonly faults: () => RuntimeFaults;
}

/** An interface that it attached, as in its cache on disk. */
interface Attached {
    readonly ifName: string;
    readonly network: Network;
    /** The result of ADD; undefined while it has none. */
    result: CniConfig | undefined;
}

/** An interface with the addresses that its ADD returned. */
export interface Added {
    readonly ifName: string;
    readonly addresses: readonly string[];
}

const networkKind = kindOf("k8s.cni.cncf.io/v1", networkAttachmentDefinitions.plural);

/** Its file in the CNI configuration folder, which runtimes read first. */
export const metaPluginFiles: Readonly<Record<string, string>> = {
    "00-multus.conf": JSON.stringify({ cniVersion: "1.0.0", name: "multus", type: "multus-shim" }),
};

class MetaPluginError extends AntreaError<"NO_NETWORK" | "CANCELLED"> {}

/**
 * Whether Multus takes the object of this name for the Pod that it is called for: it compares the UIDs, except those of
 * mirror Pods, which are never that of the static Pod; so it may read the manifest before or after. It reads no manifest.
 */
export function isReadAs(pod: KubeObject, uid: string): boolean {
    return mirroredHash(pod) !== undefined || pod.metadata?.uid === uid;
}

/**
 * A meta plugin that works as Multus: for each network that a Pod requests it calls antrea for an interface in a VLAN,
 * or another plugin, which calls antrea for the addresses and makes the interface.
 */
export class MetaPlugin {
    readonly #components: MetaPluginComponents;
    /** By container. */
    readonly #attached = new Map<string, Attached[]>();

    constructor(components: MetaPluginComponents) {
        this.#components = components;
    }

    /** Attaches the networks of a container in order. Rejects with the first failure; `delete` takes back the rest. */
    async add(netns: Netns, selections: readonly Selection[], cancelled: AbortSignal): Promise<readonly Added[]> {
        const { store, machine } = this.#components;
        const attached: Attached[] = [];
        const added: Added[] = [];
        if (selections.length > 0) this.#attached.set(netns.container.id, attached);
        for (const { ifName, network: key, ip } of selections) {
            const object = store.get(networkKind, key)?.object as NetworkAttachmentDefinition | undefined;
            if (object === undefined) throw new MetaPluginError("NO_NETWORK", "caller", `there is no network ${key}`);
            const read = readNetwork(object);
            const network =
                ip === undefined ? read : { ...read, config: { ...read.config, runtimeConfig: { ips: [ip] } } };
            const one: Attached = { ifName, network, result: undefined };
            attached.push(one);
            added.push({ ifName, addresses: await this.#attach(netns, one, cancelled) });
            if (cancelled.aborted || machine.netns.get(netns.path) !== netns)
                throw new MetaPluginError("CANCELLED", "caller", "the sandbox has ended");
        }
        return added;
    }

    /** DEL of what was attached to a container, the last first; of some it may never come. */
    async delete(netns: Netns): Promise<void> {
        const { caller, random, counters, faults } = this.#components;
        const { id } = netns.container;
        const left = this.#attached.get(id) ?? [];
        while (left.length > 0) {
            const { ifName, network } = left.at(-1) as Attached;
            caller.end(netns, ifName);
            if (random.chance(faults().loseDel)) counters.count("runtime.loseDel");
            else await caller.call("del", netns, { ifName, config: network.config });
            left.pop();
        }
        this.#attached.delete(id);
    }

    /** CHECK of what was attached. */
    async check(netns: Netns): Promise<void> {
        for (const { ifName, network, result } of this.#attached.get(netns.container.id) ?? []) {
            if (result === undefined) continue;
            this.#components.counters.count("cni.checkOfNetwork");
            await this.#components.caller.call("check", netns, {
                ifName,
                config: { ...network.config, prevResult: result },
            });
        }
    }

    /** GC of each network, with all that is attached to it. */
    async collect(): Promise<void> {
        const { caller, counters, machine } = this.#components;
        const living = [...machine.netns.values()].map(({ container }) => container.id);
        const all = living.flatMap((container) =>
            (this.#attached.get(container) ?? []).map(({ ifName, network }) => ({ container, ifName, network })),
        );
        for (const [, ofNetwork] of Map.groupBy(
            all,
            ({ network }) => `${network.type} ${String(network.config["name"])}`,
        )) {
            const [first] = ofNetwork;
            if (first === undefined) continue;
            counters.count("cni.gcOfNetwork");
            await caller.collect(first.network.config, ofNetwork);
        }
    }

    async #attach(netns: Netns, one: Attached, cancelled: AbortSignal): Promise<readonly string[]> {
        const { caller, machine, random, faults, counters } = this.#components;
        const { ifName, network } = one;
        const add = (): Promise<Uint8Array> => caller.call("add", netns, { ifName, config: network.config }, cancelled);
        if (random.chance(faults().repeat)) {
            counters.count("runtime.repeatAdd");
            void add().catch(() => undefined);
        }
        const isDelegated = network.type === "macvlan";
        // Without IPAM the other plugin does not call antrea.
        if (isDelegated && network.config["ipam"] === undefined) return [];
        const result = JSON.parse(new TextDecoder().decode(await add())) as {
            readonly ips?: readonly { readonly address: string }[];
        };
        one.result = result;
        const addresses = (result.ips ?? []).map(({ address }) => address.split("/")[0] ?? "");
        const isThere = machine.netns.get(netns.path) === netns && netns.ends.has("eth0");
        if (isDelegated && isThere && this.#attached.get(netns.container.id)?.includes(one) === true) {
            netns.ofOthers.set(
                ifName,
                addresses.map((address) => parseIp(address)),
            );
            machine.networksChanged(netns);
        }
        return addresses;
    }
}
