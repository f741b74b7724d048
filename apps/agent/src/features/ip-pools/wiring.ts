import { type IpAddress } from "@antrea/ip";
import { type InterfaceAddress, type PodAttachment, type PodRecord } from "../../platform/pod-interfaces/index.ts";

/** An interface of this Node with addresses of IPPools, as its record says. */
export interface PoolInterface extends PodAttachment, Pick<PodRecord, "vlan"> {
    /** `pool` is "" when it is not known any more. */
    readonly addresses: readonly (InterfaceAddress & { readonly pool: string })[];
}

/** What is wired on this Node, and how to deal with it. */
export interface Wiring {
    /** All interfaces with addresses of IPPools. */
    interfaces(): readonly PoolInterface[];
    /** Whether the container's network namespace lives. */
    linkExists(wired: PoolInterface): Promise<boolean>;
    /** Serial work on one container, as ADD and DEL do it. */
    exclusively<T>(containerId: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
    /** Whether the interface of the Pod is wired, with whatever addresses. */
    isWired(podUid: string, ifName: string): boolean;
    /** Whether an ADD of the container, or for the Pod, is under way. */
    isAdding(containerIdOrPodUid: string): boolean;
    /** Whether the interface is cut off; an agent that starts again knows it too. */
    isCutOff(wired: PoolInterface): boolean;
    /** Whether this start of the agent isolated the interface, which was connected before, until its claims are compared. */
    isUndecided(wired: PoolInterface): boolean;
    /** Whether an interface of this Node that is not isolated has the address, from a pool or not. */
    isConnected(ip: IpAddress): boolean;
    /** Ends the traffic of the interface; again is no harm, and completes what failed before. */
    cutOff(wired: PoolInterface): Promise<void>;
    /** Undoes `cutOff`; nothing happens to an interface that is not cut off. */
    reconnect(wired: PoolInterface): Promise<void>;
}
