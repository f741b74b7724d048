import type { Clock } from "@antrea/async";
import { isAborted } from "@antrea/errors";
import { OfPort, vlanFlows, type FlowSet, type NextTable } from "@antrea/flows";
import { Reconciler, type Logger, type MetricsFactory, type PassResult } from "@antrea/runtime";
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
    readonly logger: Logger;
    readonly clock?: Clock | undefined;
    readonly metrics?: MetricsFactory | undefined;
}

/**
 * The VLANs that have bridged Pods on this Node. Each has flows that name the ports of all its Pods: they carry the
 * broadcasts of address resolution, and take the tag off what comes for one of them.
 */
export class BridgedPods {
    readonly #components: BridgedPodsComponents;
    readonly #pods = new Map<string, BridgedPod>();
    readonly #listeners = new Set<() => void>();
    /** The OpenFlow ports of its Pods, in order, by VLAN. */
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
        const ports = this.#portsOf(pod.vlan);
        this.#components.flowTable.stage(ownerOf(pod.vlan), this.#flowsOf(pod.vlan, ports));
        this.#vlans.adopt(pod.vlan, ports);
    }

    /** Makes a Pod one of its VLAN, or changes its port. What OVS refuses is not in it afterwards. */
    async add(pod: BridgedPod, signal?: AbortSignal): Promise<void> {
        if (this.#pods.get(pod.key)?.vlan !== pod.vlan) await this.remove(pod.key, signal);
        const known = this.#pods.get(pod.key);
        this.#pods.set(pod.key, pod);
        try {
            await this.#apply(pod.vlan, signal);
        } catch (error) {
            // An abort leaves the flows desired, as the table does: the caller removes or repeats.
            if (!isAborted(error) && this.#pods.get(pod.key) === pod) this.#takeBack(pod, known);
            throw error;
        }
        if (known?.ofPort !== pod.ofPort) this.#notify(pod);
    }

    /** Takes a Pod out of its VLAN; one that is in none is a success. Flows that stay at a failure are removed by `pass`. */
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

    /** Retries what failed. */
    pass(signal?: AbortSignal): Promise<PassResult> {
        return this.#vlans.pass(signal);
    }

    /** Announces to the switches and neighbours of its VLAN where a Pod is. */
    announce(key: string): void {
        const pod = this.#pods.get(key);
        if (pod !== undefined) this.#components.announcer.announce(pod);
    }

    /** The same of all Pods: the interface to the underlay came or came back. */
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
