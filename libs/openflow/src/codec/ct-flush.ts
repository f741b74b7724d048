import { type IpAddress } from "@antrea/ip";

/** Addresses and ports of one direction of a connection; what is absent is any. Ports need a `protocol` that has them. */
export interface CtTuple {
    readonly src?: IpAddress;
    readonly dst?: IpAddress;
    /** 1 to 65535. */
    readonly srcPort?: number;
    readonly dstPort?: number;
}

/**
 * Selects connections of the datapath's connection tracker that are removed: those that fit all members. `original` are
 * the packets of the side that began, as they were before translation, `reply` those that answer, as they come.
 * Available from Open vSwitch 3.1: ovs-ofctl(8), "ct-flush".
 */
export interface CtFlush {
    /** 0 to 65535. */
    readonly zone: number;
    /** IP protocol, 1 to 255. Default any. */
    readonly protocol?: number;
    readonly original?: CtTuple;
    readonly reply?: CtTuple;
}
