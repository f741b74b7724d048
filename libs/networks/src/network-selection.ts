import { type IpAddress } from "@antrea/ip";
import { type RequestedIp } from "./requested-ip.ts";

/** One network that a Pod requests, an element of the annotation. Whether the network exists is not checked. */
export interface NetworkSelection {
    /** Namespace of the NetworkAttachmentDefinition. */
    readonly namespace: string;
    readonly name: string;
    /** The interface in the Pod: the requested name, or else the first of eth1, eth2, … that none requests. */
    readonly interfaceName: string;
    /** "aa:bb:cc:dd:ee:ff" in lower case; undefined if none is requested. */
    readonly mac: string | undefined;
    /** The requested addresses, in order; empty if none is requested. */
    readonly ips: readonly RequestedIp[];
    /** Gateways, at most one of each family, to which the Pod's default route moves. */
    readonly defaultRoute: readonly IpAddress[];
    /** Keys of the element that have no effect, in its order. */
    readonly ignored: readonly string[];
}
