import { type Clock } from "@antrea/async";
import { AntreaError } from "@antrea/errors";
import type { FlowSet, NextTable } from "@antrea/flows";
import type { IpAddress } from "@antrea/ip";
import type { Netlink } from "@antrea/netlink";
import type { Logger } from "@antrea/runtime";
import type { HostRoutes } from "./host-routes.ts";
import type { PodLinkOptions } from "./link.ts";
import type { NodeSubnet } from "./node-subnet.ts";
import type { PodAddress, PodRecord } from "./record.ts";

/** The ports of the bridge, as Pod wiring needs them. */
export interface PodPorts {
    ensurePort(
        spec: {
            readonly name: string;
            readonly type: "";
            readonly ofPortRequest: number;
            readonly externalIds: Readonly<Record<string, string>>;
        },
        signal?: AbortSignal,
    ): Promise<void>;
    deletePort(name: string, signal?: AbortSignal): Promise<void>;
    ofPort(name: string, timeoutMs: number, signal?: AbortSignal): Promise<number>;
}

/** The desired flows by owner. */
export interface PodFlowTable {
    stage(owner: string, flows: FlowSet): void;
    set(owner: string, flows: FlowSet, signal?: AbortSignal): Promise<void>;
    remove(owner: string, signal?: AbortSignal): Promise<void>;
}

/** What an ADD got from IPPools. */
export interface PoolGrant {
    readonly addresses: readonly PodAddress[];
    readonly vlan: number;
}

/** A Pod's wish for addresses from IPPools. */
export interface PoolWish {
    /** Claims them, all or nothing. */
    claim(signal: AbortSignal): Promise<PoolGrant>;
}

/** The IPPools, as Pod wiring needs them. A claim outlives the wiring of its address, and the failure to wire it. */
export interface PodPools {
    /** What the Pod asks of pools; undefined when it gets addresses of this Node's subnet. */
    wishOf(request: AddRequest, signal: AbortSignal): Promise<PoolWish | undefined>;
    /**
     * Gives back what is claimed for a container's interface. Resolves when that is done, or after a second, whichever
     * comes first: the reconcile of claims does the rest. Never rejects.
     */
    release(attachment: Pick<AddRequest, "containerId" | "ifName">): Promise<void>;
}

/** Pods with addresses of IPPools that live in the underlay, as Pod wiring needs them. */
export interface PodBridging {
    readonly hostMac: Uint8Array;
    stage(pod: BridgedPod): void;
    add(pod: BridgedPod, signal?: AbortSignal): Promise<void>;
    remove(key: string, signal?: AbortSignal): Promise<void>;
    announce(key: string): void;
}

export interface BridgedPod {
    readonly key: string;
    readonly vlan: number;
    readonly ofPort: number;
    readonly mac: string;
    readonly ips: readonly IpAddress[];
}

export interface PodNetworkComponents {
    readonly ports: PodPorts;
    readonly flowTable: PodFlowTable;
    /** The tables of the pipeline. */
    readonly next: NextTable;
    readonly netlink: Netlink;
    readonly subnet: NodeSubnet;
    readonly hostRoutes: HostRoutes;
    /** Undefined when the feature is off: all Pods get addresses of this Node's subnet. */
    readonly pools: PodPools | undefined;
    /**
     * Resolves when a Pod may get an address of this Node's subnet; rejects when that may be another Node's by now. Default:
     * always.
     */
    readonly confirmSubnet?: () => Promise<void>;
    /** Undefined unless bridging mode is on: Pods of pools are behind the gateway then. */
    readonly bridging: PodBridging | undefined;
    /** For how long the work waits for OVS. Default: the machine's. */
    readonly clock?: Clock;
    readonly logger: Logger;
}

export interface PodNetworkOptions extends PodLinkOptions {
    readonly gatewayMac: () => Uint8Array;
    readonly bootId: string;
    /** For tombstones and ages, in ms. */
    readonly now: () => number;
}

/** One ADD, as the CNI server understood it. */
export interface AddRequest {
    readonly containerId: string;
    readonly ifName: string;
    readonly netns: string;
    readonly podNamespace: string;
    readonly podName: string;
    readonly podUid: string;
    /** The name of the CNI network that asks for it. */
    readonly network: string;
    /** When the call came in; a DEL that came later wins. */
    readonly receivedAt: number;
}

/** A wired interface. */
export interface PodInterface {
    readonly record: PodRecord;
    readonly ofPort: number;
    /** When its last ADD was answered; Infinity while one is under way, 0 for an interface that was rebuilt. */
    readonly addedAt: number;
}

export class PodNetworkError extends AntreaError<
    | "DELETED_MEANWHILE"
    | "NO_PORT_NUMBER"
    | "OTHER_NETNS"
    | "OTHERS_NETNS"
    | "SECOND_INTERFACE"
    | "CANCELLED"
    | "STILL_REMOVED"
    | "NO_ADDRESS"
    | "TOO_SLOW"
    | "BUSY"
    | "ADDRESS_IN_USE",
    { /** The ids of the containers that were left out; of `BUSY`. */ readonly containers: readonly string[] }
> {}
