import { type IpAllocation } from "@antrea/crd";
import { formatIp } from "@antrea/ip";
import { type EventInput, type NamedPodUid } from "@antrea/kube";
import { eventNote, type Sandbox } from "../../platform/pod-interfaces/index.ts";
import { newSandboxStep } from "../../platform/pod-object.ts";
import { holderText, type Holder } from "./allocations.ts";
import { isStaticUid, type ClaimedAddress } from "./types.ts";

/** Dependencies of PodEvents. */
export interface PodEventsComponents {
    readonly record: (event: EventInput) => void;
    /** The UID of the Pod's object; for a static Pod it differs from the UID that CNI passes. */
    readonly objectUid: (pod: NamedPodUid) => string;
}

const maxEntries = 1_024;

/**
 * Records events on Pods. An event needs a named object: for a Pod without a name nothing is recorded, and methods
 * with a result return false. `address` is an address as text; `holder` is from `holderText` in allocations.ts, not
 * from that of @antrea/ipam.
 */
export class PodEvents {
    readonly #components: PodEventsComponents;
    readonly #reported = new Set<string>();

    constructor(components: PodEventsComponents) {
        this.#components = components;
    }

    /** Records that no address could be allocated in this sandbox of the Pod, with the reason from the error. */
    allocationFailed(pod: NamedPodUid, error: unknown, sandbox: Sandbox): void {
        this.#warn(pod, "IPAllocationFailed", "AllocateIP", eventNote(error, sandbox));
    }

    /**
     * Records that the Pod of a StatefulSet ordinal waits for its address, which is not a failure yet; `reason` is a
     * sentence without its period.
     */
    waiting(pod: NamedPodUid, reason: string): void {
        this.#record(pod, {
            type: "Normal",
            reason: "WaitingForAddress",
            action: "AllocateIP",
            note: `the Pod waits for its address: ${reason}`,
        });
    }

    /** Records, once per Pod, that its pool addresses are reachable only from its own Node. */
    notRouted(pod: NamedPodUid, addresses: readonly ClaimedAddress[]): void {
        const key = `${pod.uid} ${pod.namespace}/${pod.name}`;
        if (this.#reported.has(key)) return;
        this.#reported.add(key);
        if (this.#reported.size > maxEntries) this.#reported.delete(this.#reported.values().next().value ?? "");
        const texts = addresses.map(({ ip, pool }) => `${formatIp(ip)} (IPPool ${pool})`).join(" and ");
        this.#record(pod, {
            type: "Normal",
            reason: "PoolAddressNotRouted",
            action: "AllocateIP",
            note: `${texts}: addresses of IPPools are reachable on their own Node only`,
        });
    }

    /** Records that the address is allocated to another holder. */
    heldElsewhere(pod: NamedPodUid, address: string, holder: string): boolean {
        return this.#warn(
            pod,
            "AddressHeldElsewhere",
            "Isolate",
            `address ${address} of this Pod is allocated to ${holder}; the Pod is isolated so that the address has one user. ${this.#anotherAddress(pod)}`,
        );
    }

    /**
     * Records that the address of an interface that another plugin made is allocated to another holder; the interface
     * cannot be isolated.
     */
    heldByAnother({ pod, network, ifName }: Holder, address: string, allocation: IpAllocation): boolean {
        return this.#warn(
            pod,
            "AddressHeldElsewhere",
            "CompareAllocations",
            `address ${address} of interface ${ifName} of this Pod, of network ${network}, is held by ${holderText(allocation)}. Another plugin made the interface, so it cannot be isolated here. ${this.#anotherAddress(pod)}`,
        );
    }

    /** Records that an address of the Node's podCIDR, which needs no allocation, is now allocated to another Pod. */
    claimedFromSubnet(pod: NamedPodUid, address: string, pool: string, holder: string): boolean {
        return this.#warn(
            pod,
            "AddressHeldElsewhere",
            "Isolate",
            `address ${address} of this Pod, of the podCIDR of its Node, is allocated from IPPool ${pool} to ${holder}; the Pod is isolated so that the address has one user. ${this.#anotherAddress(pod)}, and replace IPPool ${pool} by one without addresses of podCIDRs`,
        );
    }

    /**
     * Records that an address of the Node's podCIDR in use is reserved; the reservation is unused, so the Pod keeps its
     * traffic.
     */
    reservedFromSubnet(pod: NamedPodUid, address: string, pool: string, holder: string): boolean {
        return this.#warn(
            pod,
            "AddressHeldElsewhere",
            "CompareAllocations",
            `address ${address} of this Pod, of the podCIDR of its Node, is held in IPPool ${pool} by ${holder}; the Pod keeps its traffic until the address is allocated to a Pod. ${this.#anotherAddress(pod)}, and replace IPPool ${pool} by one without addresses of podCIDRs`,
        );
    }

    /** Records that the address is from an earlier podCIDR of the Pod's Node, which another Node has now. */
    anothersSubnet(pod: NamedPodUid, address: string, node: string): boolean {
        return this.#warn(
            pod,
            "AddressHeldElsewhere",
            "Isolate",
            anothersSubnetNote(address, node, this.#isStatic(pod)),
        );
    }

    /**
     * Records that the Pod's pool address is in the podCIDR of another Node.
     *
     * @param pool the IPPool that contains the address; undefined if no IPPool contains it now
     */
    inAnothersSubnet(pod: NamedPodUid, address: string, node: string, pool: string | undefined): boolean {
        const lack = pool === undefined ? "is no longer in any IPPool" : "no longer has an IPAllocation";
        return this.#warn(
            pod,
            "AddressHeldElsewhere",
            "Isolate",
            `address ${address} of this Pod ${lack}, and is in the podCIDR of Node ${node}; the Pod is isolated so that the address has one user. ${this.#anotherAddress(pod)}`,
        );
    }

    /** Records that the holder of the address cannot be determined: it is in no IPPool and has no allocation. */
    staysIsolated(pod: NamedPodUid, address: string): boolean {
        return this.#warn(
            pod,
            "PodIsolated",
            "ReportIsolation",
            `the Pod has no traffic: it was isolated because its address ${address} was or may have been assigned to another Pod. The address is in no IPPool and no longer has an IPAllocation, so its owner cannot be determined, and the Pod stays isolated. ${this.#anotherAddress(pod)}`,
        );
    }

    /**
     * Records that the pool settings of the Pod's address have changed.
     *
     * @param difference the current setting, as a sentence without its period
     */
    poolChanged(pod: NamedPodUid, address: string, difference: string): boolean {
        return this.#warn(
            pod,
            "PoolChanged",
            "ComparePool",
            `address ${address} of this Pod was set up by an earlier definition of its pool: ${difference}. The running Pod keeps its settings; ${newSandboxStep(this.#isStatic(pod), "delete it")} to give it an address of the current definition`,
        );
    }

    #anotherAddress(pod: NamedPodUid): string {
        return anotherAddressStep(this.#isStatic(pod));
    }

    #isStatic(pod: NamedPodUid): boolean {
        return isStaticUid(pod.uid) || this.#components.objectUid(pod) !== pod.uid;
    }

    #warn(pod: NamedPodUid, reason: string, action: string, note: string): boolean {
        return this.#record(pod, { type: "Warning", reason, action, note });
    }

    #record(pod: NamedPodUid, event: Omit<EventInput, "regarding">): boolean {
        const { namespace, name } = pod;
        if (name === "") return false;
        const uid = this.#components.objectUid(pod);
        const regarding = { apiVersion: "v1", kind: "Pod", namespace, name, ...(uid === "" ? {} : { uid }) };
        this.#components.record({ regarding, ...event });
        return true;
    }
}

/** The event message for a Pod whose address, as text, is in the podCIDR of the Node of this name. */
export function anothersSubnetNote(address: string, node: string, isStatic: boolean): string {
    return `address ${address} of this Pod is of an earlier podCIDR of its Node, and Node ${node} has it now; the Pod is isolated so that the address has one user. ${anotherAddressStep(isStatic)}`;
}

/** The sentence, without its period, on how a Pod gets another address. */
export function anotherAddressStep(isStatic: boolean): string {
    const step = newSandboxStep(isStatic, "delete the Pod");
    return `${step.slice(0, 1).toUpperCase()}${step.slice(1)} to give it another address`;
}
