import { type Clock } from "@antrea/async";
import type { FlowSet, NextTable } from "@antrea/flows";
import type { Netlink } from "@antrea/netlink";
import type { Logger } from "@antrea/runtime";
import type { HostRoutes } from "./host-routes.ts";
import type { PodLinkOptions } from "./link.ts";
import type { NodeSubnet } from "./node-subnet.ts";
import {
    type AddressRequest,
    type Attachment,
    type BridgedPod,
    type PodAttachment,
    type PodInterfaces,
} from "../../platform/pod-interfaces/index.ts";

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
    /** @param options `whole`: sends all of them, not only those that changed */
    set(owner: string, flows: FlowSet, signal?: AbortSignal, options?: { readonly whole?: boolean }): Promise<void>;
    remove(owner: string, signal?: AbortSignal): Promise<void>;
}

/** The IPPools, as Pod wiring needs them. A claim outlives the wiring of its address, and the failure to wire it. */
export interface PodPools {
    /** What the Pod asks of pools; undefined when it gets addresses of this Node's subnet. */
    requestOf(attachment: PodAttachment, signal: AbortSignal): Promise<AddressRequest | undefined>;
    /**
     * Gives back what is claimed for a container's interface. Resolves when that is done, or after a second, whichever
     * comes first: the reconcile of claims does the rest. Never rejects.
     */
    release(attachment: Attachment): Promise<void>;
}

/** Pods with addresses of IPPools that live in the underlay, as Pod wiring needs them. */
export interface PodBridging {
    readonly hostMac: Uint8Array;
    stage(pod: BridgedPod): void;
    add(pod: BridgedPod, signal?: AbortSignal): Promise<void>;
    remove(key: string, signal?: AbortSignal): Promise<void>;
    announce(key: string): void;
}

export interface PodNetworkComponents {
    /** Written here alone. */
    readonly podInterfaces: PodInterfaces;
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
