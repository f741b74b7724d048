import { type IpAddress } from "@antrea/ip";
import {
    type Attachment,
    type InterfaceAddress,
    type PodAttachment,
    type PodRecord,
} from "../../platform/pod-interfaces/index.ts";

/** An interface of this Node with addresses of IPPools, from its record. */
export interface PoolInterface extends PodAttachment, Pick<PodRecord, "vlan"> {
    /** `pool` is "" if it is not known. */
    readonly addresses: readonly (InterfaceAddress & { readonly pool: string })[];
}

/** Actions on a wired interface. */
export interface InterfaceActions {
    /** Whether the container's network namespace exists. */
    linkExists(wired: Attachment): Promise<boolean>;
    /** Runs the work under the container's lock, serialized with ADD and DEL. */
    exclusively<T>(containerId: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
    /** Whether the interface is isolated; the state survives a restart of the agent. */
    isIsolated(wired: Attachment): boolean;
    /** Blocks the traffic of the interface. Idempotent: a repeated call completes a failed one. */
    isolate(wired: Attachment): Promise<void>;
    /** Undoes `isolate`; no effect on an interface that is not isolated. */
    reconnect(wired: Attachment): Promise<void>;
}

/** The interfaces wired on this Node, and the actions on them. */
export interface Wiring extends InterfaceActions {
    /** All interfaces with addresses of IPPools. */
    interfaces(): readonly PoolInterface[];
    /** Whether the interface of the Pod is wired, with addresses of any source. */
    isWired(podUid: string, ifName: string): boolean;
    /** Whether an ADD of the container or for the Pod is in progress. */
    isAdding(containerIdOrPodUid: string): boolean;
    /** Whether this run of the agent isolated the previously connected interface until its allocations are compared. */
    isUndecided(wired: Attachment): boolean;
    /** Whether an interface of this Node that is not isolated has the address, from a pool or not. */
    isConnected(ip: IpAddress): boolean;
}
