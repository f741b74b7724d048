import { type IpAddress } from "@antrea/ip";

/** A Pod as CNI names it. Of a static Pod the UID is the hash of its file. */
export interface PodIdentity {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
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

/** Which interface of which container an address is claimed for. */
export interface Attachment {
    readonly containerId: string;
    readonly ifName: string;
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
export interface ClaimedAddress {
    readonly ip: IpAddress;
    readonly prefixLength: number;
    readonly gateway: IpAddress;
    /** 0 is untagged. */
    readonly vlan: number;
    readonly pool: string;
}

/** How an interface was set up by its pool. */
export interface SetUp {
    readonly ip: IpAddress;
    readonly prefixLength: number;
    readonly gateway: IpAddress;
    /** Undefined: not to be compared. */
    readonly vlan?: number | undefined;
}

/** A claimed address that its pool describes otherwise now. */
export interface PoolChange {
    readonly address: ClaimedAddress;
    /** As a sentence without its end. */
    readonly difference: string;
}
