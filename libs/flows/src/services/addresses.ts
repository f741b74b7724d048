import { parseMac, type Family, type IpAddress } from "@antrea/ip";

const sources: Readonly<Record<Family, IpAddress>> = {
    4: { family: 4, value: 0xa9fe_00fdn },
    6: { family: 6, value: 0xfc01_0000_0000_0000_0000_aabb_ccdd_eeffn },
};

const nodePorts: Readonly<Record<Family, IpAddress>> = {
    4: { family: 4, value: 0xa9fe_00fcn },
    6: { family: 6, value: 0xfc01_0000_0000_0000_0000_aabb_ccdd_eefen },
};

/**
 * Returns the source address that an endpoint sees when the answer would not return to the switch by itself:
 * 169.254.0.253 or fc01::aabb:ccdd:eeff, the same on each Node. The host sees it for bridged Pods that use a Service
 * which kube-proxy serves.
 */
export function serviceSource(family: Family): IpAddress {
    return sources[family];
}

/**
 * Returns the address to which the host translates an address of the Node before the switch gets a packet to a
 * NodePort: 169.254.0.252 or fc01::aabb:ccdd:eefe.
 */
export function nodePortAddress(family: Family): IpAddress {
    return nodePorts[family];
}

/**
 * Destination MAC address of all packets that the host sends to the switch because of a Service, and of answers to
 * `serviceSource`: that of the host's neighbour entries. Shared: do not modify it.
 */
export const serviceMac: Uint8Array = parseMac("0a:59:ff:ff:ff:fd");
