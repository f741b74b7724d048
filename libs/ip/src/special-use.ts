import { parsePrefix, type Prefix } from "./prefix.ts";

/** Addresses that are for something else than hosts, and what they are for. */
export interface SpecialUse {
    /** In the plural or with an article, as it goes on from "must not hold". */
    readonly name: string;
    readonly prefix: Prefix;
}

/** Addresses that no host can have. RFC 6890 lists them; ::ffff:0:0/96 would be a second way to write IPv4. */
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

/** Addresses that a host can have, and that no other network reaches. */
export const unroutedUse: readonly SpecialUse[] = [
    { name: linkLocal, prefix: parsePrefix("169.254.0.0/16") },
    { name: 'addresses of "this network" (RFC 6890)', prefix: parsePrefix("0.0.0.0/8") },
    { name: linkLocal, prefix: parsePrefix("fe80::/10") },
];
