import { type IpAddress } from "@antrea/ip";
import { type NamedPodUid } from "@antrea/kube";
import { type Attachment, type InterfaceAddress, type PoolDemand } from "../../platform/pod-interfaces/index.ts";
import { type NamedPod } from "../../platform/pod-object.ts";

/**
 * Whether CNI passes this UID for a static Pod: a hash, not a UUID. False for one whose manifest has its own
 * `metadata.uid`.
 */
export function isStaticUid(uid: string): boolean {
    return uid !== "" && !uid.includes("-");
}

/** The Pod that an interface belongs to, as its record names it; fields that are unknown stay "". */
export function podOf({ podNamespace, podName, podUid }: NamedPod): NamedPodUid {
    return { namespace: podNamespace, name: podName, uid: podUid };
}

/**
 * The position of a Pod in its StatefulSet: name of the set, which is in the Pod's Namespace, and ordinal, the number
 * at the end of the Pod's name.
 */
export interface SetPlace {
    readonly name: string;
    readonly ordinal: number;
    /** UID of the set; absent where the place is only compared. */
    readonly uid?: string | undefined;
}

/** The pools and addresses that a Pod requests. */
export interface PoolsWanted {
    /** Names of IPPools, at least one, in the order in which they are tried. */
    readonly pools: readonly string[];
    /** The object whose annotation names the pools. */
    readonly from: "Pod" | "Namespace";
    /** At most one per family; a family without one takes any free address. */
    readonly fixed: readonly IpAddress[];
    /** Set for Pods of a StatefulSet, which take the address reserved for their ordinal. */
    readonly statefulSet: SetPlace | undefined;
}

/** A request to allocate addresses for a Pod's own interface, one of each family of its pools. */
export interface AllocationRequest extends Attachment, Omit<PoolsWanted, "from"> {
    readonly pod: NamedPodUid;
}

/** A request to allocate addresses for an interface of a network other than the Pod network. */
export interface NetworkRequest extends Attachment {
    readonly pod: NamedPodUid;
    /** `namespace/name` of the network, or the CNI name of one whose interfaces another plugin makes. */
    readonly network: string;
    /** One address for each, in this order: exactly of this pool. A pool with several demands has a fixed one in each. */
    readonly demands: readonly PoolDemand[];
    /** Set for Pods of a StatefulSet: the addresses are claimed for the ordinal, which keeps them. */
    readonly statefulSet: SetPlace | undefined;
}

/**
 * One definition of an IPPool (`metadata.uid`, `metadata.generation`): a recreated IPPool has another UID, a changed
 * spec another generation. UID "" or generation 0: the server sent none, and allocations record no version.
 */
export interface PoolVersion {
    readonly uid: string;
    readonly generation: number;
}

/** An allocated address with the settings of the Pod's interface. */
export interface ClaimedAddress extends InterfaceAddress {
    /** VLAN ID; 0 is untagged. */
    readonly vlan: number;
    /** Name of its IPPool. */
    readonly pool: string;
}

/** An allocated address whose pool settings have changed. */
export interface PoolChange {
    readonly address: ClaimedAddress;
    /** The current setting, as a sentence without its period: `IPPool pool1 now specifies gateway 10.2.0.1`. */
    readonly difference: string;
}

/** The pool settings by which an interface was set up. */
export interface SetUp extends Omit<InterfaceAddress, "gateway"> {
    /** Undefined: not compared. */
    readonly gateway: InterfaceAddress["gateway"] | undefined;
    /** VLAN ID; 0 is untagged. Undefined: not compared. */
    readonly vlan?: number | undefined;
}
