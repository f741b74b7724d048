import { KeyedLock } from "@antrea/async";
import { isAborted } from "@antrea/errors";
import { OfPort, vlanFlows, type FlowSet, type NextTable } from "@antrea/flows";
import type { BridgedPod } from "../../../platform/pod-interfaces/index.ts";
import type { Announcer } from "./announcer.ts";

/** The desired flows by owner. */
export interface VlanFlowTable {
    stage(owner: string, flows: FlowSet): void;
    set(owner: string, flows: FlowSet, signal?: AbortSignal): Promise<void>;
    remove(owner: string, signal?: AbortSignal): Promise<void>;
}

export interface BridgedPodsComponents {
    readonly flowTable: VlanFlowTable;
    readonly next: NextTable;
    readonly announcer: Pick<Announcer, "announce">;
    /** Of the Node's interface; the host port has the same. */
    readonly hostMac: () => Uint8Array;
}

/**
 * The VLANs that have bridged Pods on this Node. Each has flows that name the ports of all its Pods: they carry the
 * broadcasts of address resolution, and take the tag off what comes for one of them.
 */
export class BridgedPods {
    readonly #components: BridgedPodsComponents;
    readonly #pods = new Map<string, BridgedPod>();
    readonly #listeners = new Set<() => void>();
    /** By VLAN: what its first and its last Pod want of its flows must reach OVS in the order in which they said it. */
    readonly #locks = new KeyedLock<number>();

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

    /** Makes a Pod one of its VLAN, or changes its port. What OVS refuses is not in it afterwards. */
    async add(pod: BridgedPod, signal?: AbortSignal): Promise<void> {
        const known = this.#pods.get(pod.key);
        if (known !== undefined && known.vlan !== pod.vlan) await this.remove(pod.key, signal);
        await this.#locks.run(pod.vlan, () => this.#add(pod, signal), signal);
    }

    /** Takes a Pod out of its VLAN; one that is in none is a success. */
    async remove(key: string, signal?: AbortSignal): Promise<void> {
        const known = this.#pods.get(key);
        if (known === undefined) return;
        await this.#locks.run(known.vlan, () => this.#remove(key, known.vlan, signal), signal);
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

    async #add(pod: BridgedPod, signal: AbortSignal | undefined): Promise<void> {
        const known = this.#pods.get(pod.key);
        this.#pods.set(pod.key, pod);
        if (known?.ofPort === pod.ofPort) return;
        try {
            await this.#setFlows(pod.vlan, signal);
        } catch (error) {
            // An abort leaves the flows desired, as the table does: the caller removes or repeats.
            if (!isAborted(error)) this.#put(pod.key, known);
            throw error;
        }
        this.#tell(pod);
    }

    async #remove(key: string, vlan: number, signal: AbortSignal | undefined): Promise<void> {
        const pod = this.#pods.get(key);
        // Somebody else was first.
        if (pod?.vlan !== vlan) return;
        this.#pods.delete(key);
        try {
            await this.#setFlows(vlan, signal);
        } finally {
            this.#tell(pod);
        }
    }

    #put(key: string, pod: BridgedPod | undefined): void {
        if (pod === undefined) this.#pods.delete(key);
        else this.#pods.set(key, pod);
    }

    /** Inside the lock of the VLAN. */
    async #setFlows(vlan: number, signal: AbortSignal | undefined): Promise<void> {
        const { flowTable } = this.#components;
        if (this.#portsOf(vlan).length === 0) await flowTable.remove(ownerOf(vlan), signal);
        else await flowTable.set(ownerOf(vlan), this.#flowsOf(vlan), signal);
    }

    #flowsOf(vlan: number): FlowSet {
        const [uplink, host] = [{ ofPort: OfPort.uplink }, { ofPort: OfPort.host }];
        return vlanFlows(this.#components.next, { vlan, podPorts: this.#portsOf(vlan), uplink, host });
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
