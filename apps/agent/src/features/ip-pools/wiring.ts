import { type IpAddress } from "@antrea/ip";
import { type Attachment, type SetUp } from "./types.ts";

/** An interface of this Node with addresses of IPPools, as its record says. */
export interface WiredInterface extends Attachment {
    /** Empty, as the name, while only the UID is known. */
    readonly podNamespace: string;
    readonly podName: string;
    readonly podUid: string;
    /** `pool` is "" when nobody knows it any more. */
    readonly addresses: readonly (Omit<SetUp, "vlan"> & { readonly pool: string })[];
    /** 0 is untagged. */
    readonly vlan: number;
}

/** What is wired on this Node, and how to deal with it. */
export interface Wiring {
    /** All interfaces with addresses of IPPools. */
    interfaces(): readonly WiredInterface[];
    /** Whether the container's network namespace lives. */
    linkExists(wired: WiredInterface): Promise<boolean>;
    /** Serial work on one container, as ADD and DEL do it. */
    exclusively<T>(containerId: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
    /** Whether the interface of the Pod is wired, with whatever addresses. */
    isWired(podUid: string, ifName: string): boolean;
    /** Whether an ADD of the container, or for the Pod, is under way. */
    isAdding(containerIdOrPodUid: string): boolean;
    /** Whether the interface is cut off; an agent that starts again knows it too. */
    isCutOff(wired: WiredInterface): boolean;
    /** Whether this start of the agent isolated the interface, which was connected before, until its claims are compared. */
    isUndecided(wired: WiredInterface): boolean;
    /** Whether an interface of this Node that is not isolated has the address, from a pool or not. */
    isConnected(ip: IpAddress): boolean;
    /** Ends the traffic of the interface; again is no harm, and completes what failed before. */
    cutOff(wired: WiredInterface): Promise<void>;
    /** Undoes `cutOff`; nothing happens to an interface that is not cut off. */
    reconnect(wired: WiredInterface): Promise<void>;
}
