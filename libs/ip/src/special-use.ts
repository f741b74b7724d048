import { parsePrefix, type Prefix } from "./prefix.ts";

/** A block of special-purpose addresses (RFC 6890) with its name for messages. */
export interface SpecialUse {
    /** Plural or with an article, so that it completes a sentence such as "must not hold …". */
    readonly name: string;
    readonly prefix: Prefix;
}

/**
 * Addresses that no host can have: unspecified, loopback, multicast and limited broadcast (RFC 6890), and
 * ::ffff:0:0/96, which would be a second notation of IPv4.
 */
export const specialUse: readonly SpecialUse[] = [
    { name: "the unspecified address", prefix: parsePrefix("0.0.0.0/32") },
    { name: "loopback addresses", prefix: parsePrefix("127.0.0.0/8") },
    { name: "multicast addresses", prefix: parsePrefix("224.0.0.0/4") },
    { name: "the limited broadcast address", prefix: parsePrefix("255.255.255.255/32") },
    { name: "the unspecified address", prefix: parsePrefix("::/128") },
    { name: "the loopback address", prefix: parsePrefix("::1/128") },
    { name: "IPv4-mapped addresses", prefix: { family: 6, base: 0xffffn << 32n, length: 96 } },
    { name: "multicast addresses", prefix: parsePrefix("ff00::/8") },
];

const linkLocal = "link-local addresses, which no router forwards";

/** Addresses that a host can have but that no other network reaches: link-local and 0.0.0.0/8 (RFC 6890). */
export const unroutedUse: readonly SpecialUse[] = [
    { name: linkLocal, prefix: parsePrefix("169.254.0.0/16") },
    { name: 'addresses of "this network" (RFC 6890)', prefix: parsePrefix("0.0.0.0/8") },
    { name: linkLocal, prefix: parsePrefix("fe80::/10") },
];
