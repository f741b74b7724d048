import { type IpAddress } from "@antrea/ip";
import { type Attachment, type InterfaceAddress } from "../../platform/pod-interfaces/index.ts";
import { type NamedPod } from "../../platform/pod-object.ts";

/** A Pod as CNI names it. Of a static Pod the UID is the hash of its file. */
export interface PodIdentity {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
}

/** The Pod that an interface is of. */
export function podOf({ podNamespace, podName, podUid }: NamedPod): PodIdentity {
    return { namespace: podNamespace, name: podName, uid: podUid };
}

/** The place of a Pod in its StatefulSet. */
export interface SetPlace {
    readonly name: string;
    readonly ordinal: number;
}

/** What a Pod asks of pools. */
export interface PoolsWanted {
    /** In the order in which they are tried. */
    readonly pools: readonly string[];
    /** Whose annotation names them. */
    readonly from: "Pod" | "Namespace";
    /** At most one a family; a family that has none takes any free address. */
    readonly fixed: readonly IpAddress[];
    /** Pods of a StatefulSet take the address that is reserved for their ordinal. */
    readonly statefulSet: SetPlace | undefined;
}

export interface ClaimRequest extends Attachment, Omit<PoolsWanted, "from"> {
    readonly pod: PodIdentity;
}

/** One definition of an IPPool: another object of its name has another UID, another spec another generation. */
export interface PoolVersion {
    readonly uid: string;
    readonly generation: number;
}

/** A claimed address with all that the Pod's interface needs. */
export interface ClaimedAddress extends InterfaceAddress {
    /** 0 is untagged. */
    readonly vlan: number;
    readonly pool: string;
}

/** A claimed address that its pool describes otherwise now. */
export interface PoolChange {
    readonly address: ClaimedAddress;
    /** As a sentence without its end. */
    readonly difference: string;
}

/** How an interface was set up by its pool. */
export interface SetUp extends InterfaceAddress {
    /** Undefined: not to be compared. */
    readonly vlan?: number | undefined;
}
