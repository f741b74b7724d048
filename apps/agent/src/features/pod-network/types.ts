import { type Clock } from "@antrea/async";
import type { NextTable } from "@antrea/flows";
import type { Netlink } from "@antrea/netlink";
import type { Logger } from "@antrea/runtime";
import type { FurtherInterfaces } from "./further-interfaces.ts";
import type { HostRoutes } from "./host-routes.ts";
import type { PodLinkOptions } from "./link.ts";
import type { NodeSubnet } from "./node-subnet.ts";
import {
    type AddRequest,
    type AddressRequest,
    type Attachment,
    type BridgedPod,
    type NetworkAllocations,
    type PlannedNetwork,
    type PodAttachment,
    type PodInterfaces,
    type PodRecord,
} from "../../platform/pod-interfaces/index.ts";
import type { FlowOwner } from "../../platform/ovs/flow-table/index.ts";

/**
 * The OVS ports of the bridge, as Pod wiring uses them; OvsBridge fits. Methods reject with OvsdbError, on abort with
 * `ABORTED`, or OvsBridgeError.
 */
export interface PodPorts {
    /** Creates the port with its record, or updates the one of its name, in one transaction; does not wait for OVS. */
    ensurePort(
        spec: {
            readonly name: string;
            readonly type: "";
            readonly ofPortRequest: number;
            readonly externalIds: Readonly<Record<string, string>>;
        },
        signal?: AbortSignal,
    ): Promise<void>;
    /** Succeeds if there is no such port; does not wait until OVS has released the device. */
    deletePort(name: string, signal?: AbortSignal): Promise<void>;
    /**
     * Waits for the OpenFlow port number that OVS assigns, up to `timeoutMs` milliseconds; rejects with OvsBridgeError
     * `PORT_REFUSED` if OVS cannot open the link.
     */
    ofPort(name: string, timeoutMs: number, signal?: AbortSignal): Promise<number>;
}

/** The IPPools, as Pod wiring uses them. An allocation outlives the wiring of its address, and a failed wiring. */
export interface PodPools extends Pick<NetworkAllocations, "hasAllocations"> {
    /**
     * The pools that the Pod requests; undefined if it gets addresses of this Node's podCIDRs. Rejects if that cannot
     * be determined, or the signal aborts.
     */
    requestOf(attachment: PodAttachment, signal: AbortSignal): Promise<AddressRequest | undefined>;
    /**
     * Frees the allocations of a container's interface. Resolves when that is done, or after one second; the reconciler
     * of allocations completes the rest. Never rejects.
     */
    release(attachment: Attachment): Promise<void>;
}

/**
 * The flows of VLANs with bridged Pods, as Pod wiring updates them. Wiring calls these methods itself because the order
 * matters: an ADD succeeds only when the flows of the Pod's VLAN are in OVS, and a port is deleted only after the flows
 * that name its number.
 */
export interface PodBridging {
    /** MAC address of the host port, 6 bytes. */
    readonly hostMac: Uint8Array;
    /** Adds a Pod that an earlier start has wired, before the first replay; sends nothing. */
    stage(pod: BridgedPod): void;
    /**
     * Adds a Pod, or updates its port. Resolves when OVS has the flows of its VLAN. Rejects if OVS rejects them, which
     * undoes the change in this VLAN, or if the signal aborts: the Pod stays added, and the caller removes it or
     * retries.
     */
    add(pod: BridgedPod, signal?: AbortSignal): Promise<void>;
    /**
     * Removes the Pod of this `attachmentKey`, if there is one. Resolves when no flow names its port. If it rejects,
     * the Pod is removed all the same, and the update of the flows is retried in the background.
     */
    remove(key: string, signal?: AbortSignal): Promise<void>;
}

/** Dependencies of PodNetwork. */
export interface PodNetworkComponents {
    /** Written only by PodNetwork. */
    readonly podInterfaces: PodInterfaces;
    readonly ports: PodPorts;
    readonly flowTable: FlowOwner;
    /** The table that follows each table of the pipeline. */
    readonly next: NextTable;
    readonly netlink: Netlink;
    readonly subnet: NodeSubnet;
    readonly hostRoutes: HostRoutes;
    /** Undefined if AntreaIPAM is disabled: all Pods get addresses of this Node's podCIDRs. */
    readonly pools: PodPools | undefined;
    /**
     * Resolves when a Pod may get an address of this Node's podCIDRs; rejects if it may belong to another Node now.
     * Default: always resolves.
     */
    readonly confirmSubnet?: () => Promise<void>;
    /** Undefined outside bridging mode: Pods of pools are then behind the gateway. */
    readonly bridging: PodBridging | undefined;
    /** Undefined if the agent makes no interfaces on other networks. */
    readonly further?: FurtherInterfaces | undefined;
    /**
     * The interfaces that the Pod requests on other networks, checked; empty if it requests none, or another plugin makes
     * them. Rejects with the error that ADD returns. Set with `further`.
     */
    readonly planNetworks?: (request: AddRequest, signal: AbortSignal) => Promise<readonly PlannedNetwork[]>;
    /** The fingerprint of the annotation that the plan of the request was made from, for its record; undefined if none was read. */
    readonly networksHash?: (request: AddRequest) => string | undefined;
    /**
     * Reports the interfaces of a Pod on all networks, once they are made, also if none are planned: an earlier sandbox may
     * have had some. Resolves after one second at the latest, never rejects.
     */
    readonly reportNetworks?: (own: PodRecord, planned: readonly PlannedNetwork[]) => Promise<void>;
    /** Counts a failure, and records on the Pod why its networks were not attached; never rejects. */
    readonly networksFailed?: (request: AddRequest, error: unknown) => Promise<void>;
    /** For timeouts while waiting for OVS. Default: the system clock. */
    readonly clock?: Clock;
    readonly logger: Logger;
}

/** Settings of PodNetwork. */
export interface PodNetworkOptions extends PodLinkOptions {
    /** MAC address of the gateway, 6 bytes. */
    readonly gatewayMac: () => Uint8Array;
    /** /proc/sys/kernel/random/boot_id. */
    readonly bootId: string;
    /** Whether OVS serves Services to Pods. Default false. */
    readonly servesServices?: boolean;
    /** Clock for tombstones and ages: monotonic, in milliseconds; that of `AddRequest.receivedAt`. */
    readonly now: () => number;
}
