import {
    IpError,
    parseIp,
    parsePrefix,
    prefixRange,
    RangeSet,
    specialUse,
    unroutedUse,
    type IpAddress,
} from "@antrea/ip";

/**
 * What the switch and the host of each Node use to serve Services, over IPv6: the source of translated packets, the address for
 * NodePorts, and the stand-ins. A Service there would take what is on its way to another. Those of IPv4 are link-local.
 */
const virtualUse = ["fc01::aabb:ccdd:eefe/127", "fc01::aabb:ccde:0/112"].map((text) => ({
    name: "addresses that serve Services within each Node",
    prefix: parsePrefix(text),
}));

const unusable = [...specialUse, ...unroutedUse, ...virtualUse].map(({ name, prefix }) => ({
    name,
    range: RangeSet.of([prefixRange(prefix)]),
}));
// most addresses are in none of them, which one search shows
const anyUnusable = RangeSet.of(unusable.flatMap(({ range }) => range.ranges));

/** An address, or the rule that its text breaks, which completes a sentence after it: `is not an IP address: …`. */
export type ReadIp = { readonly ip: IpAddress } | { readonly rule: string };

/** Reads an address in the strict form of `parseIp`; never throws. */
export function readIp(text: string): ReadIp {
    try {
        return { ip: parseIp(text) };
    } catch (error) {
        if (!(error instanceof IpError)) throw error;
        return { rule: `is not an IP address: ${error.details.rule ?? error.message}` };
    }
}

/** The address of a text, if it is one. */
export function ipsIn(text: string): readonly IpAddress[] {
    const read = readIp(text);
    return "ip" in read ? [read.ip] : [];
}

/** Reads an address that a host can have and that packets can be routed to: none of special use, link-local or virtual. */
export function readHostIp(text: string): ReadIp {
    const read = readIp(text);
    if (!("ip" in read) || !anyUnusable.has(read.ip)) return read;
    const use = unusable.find(({ range }) => range.has(read.ip));
    return { rule: `must not be among ${use?.name ?? "addresses of special use"}` };
}
