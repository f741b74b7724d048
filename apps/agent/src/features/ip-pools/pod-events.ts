import { messageOf } from "@antrea/errors";
import { formatIp } from "@antrea/ip";
import { type EventInput } from "@antrea/kube";
import { type ClaimedAddress, type PodIdentity } from "./types.ts";

export interface PodEventsComponents {
    readonly record: (event: EventInput) => void;
    /** The UID of the Pod's object. That of a static Pod is not the one that CNI tells. */
    readonly objectUid: (pod: PodIdentity) => string;
}

const maxRemembered = 1_024;

/**
 * What users are told on their Pods. False: the name of the Pod is not known yet, and nothing is recorded, as no event can
 * be of a Pod without one.
 */
export class PodEvents {
    readonly #components: PodEventsComponents;
    readonly #told = new Set<string>();

    constructor(components: PodEventsComponents) {
        this.#components = components;
    }

    allocationFailed(pod: PodIdentity, error: unknown): void {
        this.#warn(pod, "IPAllocationFailed", "AllocateIP", messageOf(error));
    }

    /** The Pod of an ordinal waits for its address, which is no failure yet. */
    waiting(pod: PodIdentity, reason: string): void {
        this.#record(pod, {
            type: "Normal",
            reason: "WaitingForAddress",
            action: "AllocateIP",
            note: `the Pod waits for its address: ${reason}`,
        });
    }

    /** Once a Pod. */
    notRouted(pod: PodIdentity, addresses: readonly ClaimedAddress[]): void {
        const key = `${pod.uid} ${pod.namespace}/${pod.name}`;
        if (this.#told.has(key)) return;
        this.#told.add(key);
        if (this.#told.size > maxRemembered) this.#told.delete(this.#told.values().next().value ?? "");
        const texts = addresses.map(({ ip, pool }) => `${formatIp(ip)} (IPPool ${pool})`).join(" and ");
        this.#record(pod, {
            type: "Normal",
            reason: "PoolAddressNotRouted",
            action: "AllocateIP",
            note: `${texts}: addresses of IPPools are reachable on their own Node only`,
        });
    }

    heldElsewhere(pod: PodIdentity, address: string, holder: string): boolean {
        return this.#warn(
            pod,
            "AddressHeldElsewhere",
            "CutOff",
            `address ${address} of this Pod is claimed for ${holder}; the Pod is cut off from the network so that the address has one user. Delete the Pod to give it another address`,
        );
    }

    /** The address is of the Node's podCIDR, which has no claims; a claim of another has the address now. */
    claimedFromSubnet(pod: PodIdentity, address: string, pool: string, holder: string): boolean {
        return this.#warn(
            pod,
            "AddressHeldElsewhere",
            "Isolate",
            `address ${address} of this Pod, of the podCIDR of its Node, is claimed from IPPool ${pool} for ${holder}; the Pod is isolated so that the address has one user. Delete the Pod to give it another address, and replace IPPool ${pool} by one without addresses of podCIDRs`,
        );
    }

    /** Nobody uses the claimed address yet, so the Pod keeps its traffic. */
    reservedFromSubnet(pod: PodIdentity, address: string, pool: string, holder: string): boolean {
        return this.#warn(
            pod,
            "AddressHeldElsewhere",
            "CompareClaims",
            `address ${address} of this Pod, of the podCIDR of its Node, is held in IPPool ${pool} by ${holder}; the Pod has its traffic until a Pod claims the address. Delete the Pod to give it another address, and replace IPPool ${pool} by one without addresses of podCIDRs`,
        );
    }

    /** The address is of an earlier podCIDR of the Pod's Node, which another Node has by now. */
    anothersSubnet(pod: PodIdentity, address: string, node: string): boolean {
        return this.#warn(pod, "AddressHeldElsewhere", "Isolate", anothersSubnetNote(address, node));
    }

    /** @param pool the IPPool that has the address; undefined: it was of an IPPool, and no IPPool has it any more */
    inAnothersSubnet(pod: PodIdentity, address: string, node: string, pool: string | undefined): boolean {
        const lack = pool === undefined ? "is in no IPPool any more" : "has no IPAllocation any more";
        return this.#warn(
            pod,
            "AddressHeldElsewhere",
            "Isolate",
            `address ${address} of this Pod ${lack}, and Node ${node} has it in its podCIDR; the Pod is isolated so that the address has one user. Delete the Pod to give it another address`,
        );
    }

    /** Whose the address is cannot be found out: it is in no IPPool and has no claim. */
    staysIsolated(pod: PodIdentity, address: string): boolean {
        return this.#warn(
            pod,
            "PodIsolated",
            "ReportIsolation",
            `the Pod has no traffic: it was isolated because its address ${address} was another's or might be. The address is in no IPPool and has no IPAllocation any more, so nothing says whose it is, and the Pod stays isolated. Delete the Pod to give it another address; a static Pod gets one when its manifest is moved out of its folder and back`,
        );
    }

    /** @param difference what the pool says now, as a sentence without its end */
    poolChanged(pod: PodIdentity, address: string, difference: string): boolean {
        return this.#warn(
            pod,
            "PoolChanged",
            "ComparePool",
            `address ${address} of this Pod was set up by an earlier definition of its pool: ${difference}. The running Pod keeps what it has; delete it to give it an address by the present definition`,
        );
    }

    #warn(pod: PodIdentity, reason: string, action: string, note: string): boolean {
        return this.#record(pod, { type: "Warning", reason, action, note });
    }

    #record(pod: PodIdentity, event: Omit<EventInput, "regarding">): boolean {
        const { namespace, name } = pod;
        if (name === "") return false;
        const uid = this.#components.objectUid(pod);
        const regarding = { apiVersion: "v1", kind: "Pod", namespace, name, ...(uid === "" ? {} : { uid }) };
        this.#components.record({ regarding, ...event });
        return true;
    }
}

/** What is reported of a Pod whose address is in the podCIDR of another Node than its own. */
export function anothersSubnetNote(address: string, node: string): string {
    return `address ${address} of this Pod is of a podCIDR that its Node does not have any more, and Node ${node} has it now; the Pod is isolated so that the address has one user. Delete the Pod to give it another address; a static Pod gets one when its manifest is moved out of its folder and back`;
}
