import type { Clock } from "@antrea/async";
import { isAborted } from "@antrea/errors";
import { OfPort, vlanFlows, type FlowSet, type NextTable } from "@antrea/flows";
import { Reconciler, type Logger, type MetricsFactory, type PassResult } from "@antrea/runtime";
import type { BridgedPod } from "../../../platform/pod-interfaces/index.ts";
import type { Announcer } from "../../../platform/ovs/announcer.ts";
import type { FlowOwner } from "../../../platform/ovs/flow-table/index.ts";

/** Dependencies of BridgedPods. */
export interface BridgedPodsComponents {
    readonly flowTable: FlowOwner;
    readonly next: NextTable;
    readonly announcer: Pick<Announcer, "announce">;
    /** MAC address of the Node's interface, which the host port shares; 6 bytes, read at each use. */
    readonly hostMac: () => Uint8Array;
    readonly logger: Logger;
    /** Default the system clock. */
    readonly clock?: Clock | undefined;
    /** Default no metrics. */
    readonly metrics?: MetricsFactory | undefined;
}

/**
 * The VLANs that have bridged Pods on this Node, 0 for untagged ones. Each has flows that name the ports of all its
 * Pods: they forward broadcasts of address resolution, and remove the tag from frames for these Pods. Changes of one
 * VLAN are made one after the other. `add` and `remove` of one Pod must not overlap: the caller holds the lock of its
 * container.
 */
export class BridgedPods {
    readonly #components: BridgedPodsComponents;
    readonly #pods = new Map<string, BridgedPod>();
    readonly #listeners = new Set<() => void>();
    /** By VLAN, the sorted OpenFlow ports of its Pods. */
    readonly #vlans: Reconciler<number, readonly number[]>;

    constructor(components: BridgedPodsComponents) {
        this.#components = components;
        const { flowTable } = components;
        this.#vlans = new Reconciler<number, readonly number[]>(
            components,
            { name: "bridging/vlans", isEqual: (one, other) => one.join() === other.join() },
            {
                update: ({ key, value }, signal) => flowTable.set(ownerOf(key), this.#flowsOf(key, value), signal),
                delete: ({ key }, signal) => flowTable.remove(ownerOf(key), signal),
            },
        );
    }

    /** MAC address of the host port, 6 bytes. */
    get hostMac(): Uint8Array {
        return this.#components.hostMac();
    }

    /** All bridged Pods. */
    pods(): readonly BridgedPod[] {
        return [...this.#pods.values()];
    }

    /** The Pods in a VLAN, i.e. not untagged. */
    tagged(): readonly BridgedPod[] {
        return this.pods().filter(({ vlan }) => vlan !== 0);
    }

    /**
     * Registers a listener, for good, that is called when a Pod in a VLAN is added, removed or has got another port.
     */
    onTaggedChange(listener: () => void): void {
        this.#listeners.add(listener);
    }

    /** Adds a Pod at startup, before the first replay sends the flows of its VLAN to OVS; calls no listener. */
    stage(pod: BridgedPod): void {
        this.#pods.set(pod.key, pod);
        const ports = this.#portsOf(pod.vlan);
        this.#components.flowTable.stage(ownerOf(pod.vlan), this.#flowsOf(pod.vlan, ports));
        this.#vlans.adopt(pod.vlan, ports);
    }

    /**
     * Adds a Pod, or updates its port. Resolves when OVS has the flows of its VLAN. Rejects if OVS rejects them, which
     * undoes the change in this VLAN, or if the signal aborts: the Pod stays added, and the caller removes it or
     * retries.
     */
    async add(pod: BridgedPod, signal?: AbortSignal): Promise<void> {
        if (this.#pods.get(pod.key)?.vlan !== pod.vlan) await this.remove(pod.key, signal);
        const known = this.#pods.get(pod.key);
        this.#pods.set(pod.key, pod);
        try {
            await this.#apply(pod.vlan, signal);
        } catch (error) {
            // After an abort the flows stay desired, as in the flow table: the caller removes the Pod or retries.
            if (!isAborted(error) && this.#pods.get(pod.key) === pod) this.#takeBack(pod, known);
            throw error;
        }
        if (known?.ofPort !== pod.ofPort) this.#notify(pod);
    }

    /**
     * Removes the Pod of this `attachmentKey`, if there is one. Resolves when no flow names its port. If it rejects,
     * the Pod is removed all the same, and `pass` retries the update of the flows.
     */
    async remove(key: string, signal?: AbortSignal): Promise<void> {
        const pod = this.#pods.get(key);
        if (pod === undefined) return;
        this.#pods.delete(key);
        try {
            await this.#apply(pod.vlan, signal);
        } finally {
            this.#notify(pod);
        }
    }

    /** Retries failed changes of flows; those that fail again are in the result. Rejects if the signal aborts. */
    pass(signal?: AbortSignal): Promise<PassResult> {
        return this.#vlans.pass(signal);
    }

    /**
     * Announces the addresses of the Pod of this `attachmentKey` to the switches and neighbours of its VLAN; no effect
     * if there is none. Returns at once.
     */
    announce(key: string): void {
        const pod = this.#pods.get(key);
        if (pod !== undefined) this.#components.announcer.announce(pod);
    }

    /** Announces all Pods after the uplink was connected or reconnected. */
    announceAll(): void {
        for (const pod of this.#pods.values()) this.#components.announcer.announce(pod);
    }

    #takeBack({ key, vlan }: BridgedPod, known: BridgedPod | undefined): void {
        if (known === undefined) this.#pods.delete(key);
        else this.#pods.set(key, known);
        this.#desire(vlan);
    }

    #apply(vlan: number, signal: AbortSignal | undefined): Promise<void> {
        this.#desire(vlan);
        return this.#vlans.apply(vlan, signal);
    }

    #desire(vlan: number): void {
        const ports = this.#portsOf(vlan);
        if (ports.length === 0) this.#vlans.delete(vlan);
        else this.#vlans.set(vlan, ports);
    }

    #flowsOf(vlan: number, podPorts: readonly number[]): FlowSet {
        const [uplink, host] = [{ ofPort: OfPort.uplink }, { ofPort: OfPort.host }];
        return vlanFlows(this.#components.next, { vlan, podPorts, uplink, host });
    }

    #portsOf(vlan: number): readonly number[] {
        return this.pods()
            .filter((pod) => pod.vlan === vlan)
            .map(({ ofPort }) => ofPort)
            .sort((one, other) => one - other);
    }

    #notify({ vlan }: BridgedPod): void {
        if (vlan === 0) return;
        for (const listener of this.#listeners) listener();
    }
}

function ownerOf(vlan: number): string {
    return `vlan/${vlan}`;
}
