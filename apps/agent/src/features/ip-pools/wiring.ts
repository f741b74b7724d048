import { type IpAddress } from "@antrea/ip";
import {
    type Attachment,
    type InterfaceAddress,
    type PodAttachment,
    type PodRecord,
} from "../../platform/pod-interfaces/index.ts";

/** An interface of this Node with addresses of IPPools, as its record says. */
export interface PoolInterface extends PodAttachment, Pick<PodRecord, "vlan"> {
    /** `pool` is "" when it is not known any more. */
    readonly addresses: readonly (InterfaceAddress & { readonly pool: string })[];
}

/** How to deal with a wired interface. */
export interface InterfaceActions {
    /** Whether the container's network namespace lives. */
    linkExists(wired: Attachment): Promise<boolean>;
    /** Serial work on one container, as ADD and DEL do it. */
    exclusively<T>(containerId: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
    /** Whether the interface is isolated; an agent that starts again knows it too. */
    isIsolated(wired: Attachment): boolean;
    /** Ends the traffic of the interface; again is no harm, and completes what failed before. */
    isolate(wired: Attachment): Promise<void>;
    /** Undoes `isolate`; nothing happens to an interface that is not isolated. */
    reconnect(wired: Attachment): Promise<void>;
}

/** What is wired on this Node, and how to deal with it. */
export interface Wiring extends InterfaceActions {
    /** All interfaces with addresses of IPPools. */
    interfaces(): readonly PoolInterface[];
    /** Whether the interface of the Pod is wired, with whatever addresses. */
    isWired(podUid: string, ifName: string): boolean;
    /** Whether an ADD of the container, or for the Pod, is under way. */
    isAdding(containerIdOrPodUid: string): boolean;
    /** Whether this start of the agent isolated the interface, which was connected before, until its claims are compared. */
    isUndecided(wired: Attachment): boolean;
    /** Whether an interface of this Node that is not isolated has the address, from a pool or not. */
    isConnected(ip: IpAddress): boolean;
}
