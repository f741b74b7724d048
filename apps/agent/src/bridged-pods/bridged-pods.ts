import { OfPort, vlanFlows, type FlowSet } from "@antrea/flows";
import type { IpAddress } from "@antrea/ip";
import type { Announcer } from "./announcer.ts";

/** The desired flows by owner. */
export interface VlanFlowTable {
    stage(owner: string, flows: FlowSet): void;
    set(owner: string, flows: FlowSet, signal?: AbortSignal): Promise<void>;
    remove(owner: string, signal?: AbortSignal): Promise<void>;
}

export interface BridgedPodsComponents {
    readonly flowTable: VlanFlowTable;
    readonly announcer: Pick<Announcer, "announce">;
    /** Of the Node's interface; the host port has the same. */
    readonly hostMac: () => Uint8Array;
}

/** A bridged Pod, as the VLANs see it. */
export interface BridgedPod {
    /** One a Pod interface, the same from its first to its last call. */
    readonly key: string;
    readonly vlan: number;
    readonly ofPort: number;
    readonly mac: string;
    readonly ips: readonly IpAddress[];
}

/**
 * The VLANs that have bridged Pods on this Node. Each has flows that name the ports of all its Pods: they carry the
 * broadcasts of address resolution, and take the tag off what comes for one of them.
 */
export class BridgedPods {
    readonly #components: BridgedPodsComponents;
    readonly #pods = new Map<string, BridgedPod>();
    readonly #listeners = new Set<() => void>();

    constructor(components: BridgedPodsComponents) {
        this.#components = components;
    }

    get hostMac(): Uint8Array {
        return this.#components.hostMac();
    }

    pods(): readonly BridgedPod[] {
        return [...this.#pods.values()];
    }

    /** The Pods in a VLAN. */
    tagged(): readonly BridgedPod[] {
        return this.pods().filter(({ vlan }) => vlan !== 0);
    }

    /** Called when a Pod in a VLAN came or went. */
    onTaggedChange(listener: () => void): void {
        this.#listeners.add(listener);
    }

    /** Takes over a Pod at the start, before the first replay brings its VLAN's flows into OVS. */
    stage(pod: BridgedPod): void {
        this.#pods.set(pod.key, pod);
        this.#components.flowTable.stage(ownerOf(pod.vlan), this.#flowsOf(pod.vlan));
    }

    /** Makes a Pod one of its VLAN, or changes its port. */
    async add(pod: BridgedPod, signal?: AbortSignal): Promise<void> {
        const known = this.#pods.get(pod.key);
        if (known?.ofPort === pod.ofPort && known.vlan === pod.vlan) return;
        this.#pods.set(pod.key, pod);
        await this.#components.flowTable.set(ownerOf(pod.vlan), this.#flowsOf(pod.vlan), signal);
        this.#tell(pod);
    }

    /** Takes a Pod out of its VLAN; one that is in none is a success. */
    async remove(key: string, signal?: AbortSignal): Promise<void> {
        const pod = this.#pods.get(key);
        if (pod === undefined) return;
        this.#pods.delete(key);
        const owner = ownerOf(pod.vlan);
        if (this.#portsOf(pod.vlan).length === 0) await this.#components.flowTable.remove(owner, signal);
        else await this.#components.flowTable.set(owner, this.#flowsOf(pod.vlan), signal);
        this.#tell(pod);
    }

    /** Tells the switches and neighbours of its VLAN where a Pod is now. */
    announce(key: string): void {
        const pod = this.#pods.get(key);
        if (pod !== undefined) this.#components.announcer.announce(pod);
    }

    /** The same of all Pods: the interface to the underlay came or came back. */
    announceAll(): void {
        for (const pod of this.#pods.values()) this.#components.announcer.announce(pod);
    }

    #flowsOf(vlan: number): FlowSet {
        const [uplink, host] = [{ ofPort: OfPort.uplink }, { ofPort: OfPort.host }];
        return vlanFlows({ vlan, podPorts: this.#portsOf(vlan), uplink, host });
    }

    #portsOf(vlan: number): readonly number[] {
        return this.pods()
            .filter((pod) => pod.vlan === vlan)
            .map(({ ofPort }) => ofPort)
            .sort((one, other) => one - other);
    }

    #tell({ vlan }: BridgedPod): void {
        if (vlan === 0) return;
        for (const listener of this.#listeners) listener();
    }
}

function ownerOf(vlan: number): string {
    return `vlan/${vlan}`;
}
