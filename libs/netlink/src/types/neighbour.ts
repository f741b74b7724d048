import { type IpAddress } from "@antrea/ip";
import { type MacText } from "./link.ts";

/** A neighbour entry (ARP or ND): struct ndmsg and its NDA_* attributes (rtnetlink(7)); `index` is the link's. */
export interface Neighbour {
    readonly index: number;
    readonly ip: IpAddress;
    /** Absent while it is being resolved, or when that failed. */
    readonly mac?: MacText;
    /** Bits of NeighbourState. */
    readonly state: number;
    /** All bits (NTF_*), those of NeighbourFlag and others. */
    readonly flags: number;
}

/** A neighbour entry to add to a link; `index` is the link's. */
export interface NeighbourOptions {
    readonly index: number;
    readonly ip: IpAddress;
    readonly mac: MacText;
    /** NeighbourState value; default permanent. */
    readonly state?: number | undefined;
    /** Bits of NeighbourFlag. Default none. */
    readonly flags?: number | undefined;
}

/** Identifies a neighbour entry: the index of its link, and its address. */
export type NeighbourKey = Pick<NeighbourOptions, "index" | "ip">;
