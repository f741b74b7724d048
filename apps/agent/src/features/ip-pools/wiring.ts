import { type IpAddress } from "@antrea/ip";
import { type Attachment, type InterfaceAddress, type PodAttachment } from "../../platform/pod-interfaces/index.ts";

/** An interface of this Node with addresses of IPPools, from its record. */
export interface PoolInterface extends PodAttachment {
    /** VLAN of its pools; 0 is untagged. Undefined: not compared with them, as a network may have one of its own. */
    readonly vlan: number | undefined;
    /** `namespace/name` of its network; undefined for a Pod's own interface. */
    readonly network?: string | undefined;
    readonly addresses: readonly PoolInterfaceAddress[];
}

/** An address of an interface that is allocated from an IPPool. */
export interface PoolInterfaceAddress extends Omit<InterfaceAddress, "gateway"> {
    /** Undefined if it has none: a requested address of a network may have settings of its own. */
    readonly gateway: IpAddress | undefined;
    /** "" if it is not known. */
    readonly pool: string;
}

/** Actions on a wired interface; `isolate` and `reconnect` are called under the container's lock (`exclusively`). */
export interface InterfaceActions {
    /**
     * Whether the interface has a record and the host end of its veth pair exists, and so the container's network
     * namespace. Rejects if the links cannot be read.
     */
    linkExists(wired: Attachment): Promise<boolean>;
    /**
     * Runs the work under the container's lock, serialized with ADD and DEL. Rejects if the signal aborts before it
     * starts.
     */
    exclusively<T>(containerId: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
    /** Whether the interface is isolated; the state survives a restart of the agent. */
    isIsolated(wired: Attachment): boolean;
    /**
     * Blocks the traffic of the interface; port and record stay. Idempotent: rejects if a part failed, and a repeated
     * call completes it. No effect without a record.
     */
    isolate(wired: Attachment): Promise<void>;
    /** Undoes `isolate`; no effect on an interface that is not isolated. It stays isolated if this rejects. */
    reconnect(wired: Attachment): Promise<void>;
}

/** The interfaces wired on this Node, a live view, and the actions on them. */
export interface Wiring extends InterfaceActions {
    /** The current interfaces with addresses of IPPools, including those being removed. */
    interfaces(): readonly PoolInterface[];
    /** One of them; undefined if there is none. */
    find(attachment: Attachment): PoolInterface | undefined;
    /** Whether the interface of the Pod is wired, with addresses of any source; false for UID "". */
    isWired(podUid: string, ifName: string): boolean;
    /** Whether the container has an interface, with addresses of any source, that is not being removed. */
    hasContainer(containerId: string): boolean;
    /**
     * Since when another container of the Pod has its interface on the Pod network, which is not being removed: monotonic
     * time in milliseconds, 0 if an earlier run of the agent made it. Undefined if there is none, and for UID "".
     */
    otherContainerSince(podUid: string, containerId: string): number | undefined;
    /** Whether an ADD of the container or for the Pod is in progress. */
    isAdding(containerIdOrPodUid: string): boolean;
    /** Whether this run of the agent isolated the previously connected interface until its allocations are compared. */
    isUndecided(wired: Attachment): boolean;
    /** Whether an interface of this Node that is not isolated has the address, from a pool or not. */
    isConnected(ip: IpAddress): boolean;
}
