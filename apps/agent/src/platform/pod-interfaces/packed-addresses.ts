import { ipFromBytes, ipToBytes, type IpAddress } from "@antrea/ip";

/** An address with the bits of its subnet's prefix. */
interface PackedAddress {
    readonly ip: IpAddress;
    readonly prefixLength: number;
}

/** Added to the prefix length of an IPv6 address, so that its byte names the family too. */
const ipv6Mark = 64;

/**
 * Addresses for a link alias, whose room is small: base64url of one byte for family and prefix length and the 4 or 16 bytes
 * of each. "" for none.
 */
export function packAddresses(addresses: readonly PackedAddress[]): string {
    const bytes = addresses.flatMap(({ ip, prefixLength }) => [
        prefixLength + (ip.family === 6 ? ipv6Mark : 0),
        ...ipToBytes(ip),
    ]);
    return Buffer.from(bytes).toString("base64url");
}

/** Decodes the text of `packAddresses`; undefined for any other. */
export function unpackAddresses(text: string): readonly PackedAddress[] | undefined {
    const bytes = Buffer.from(text, "base64url");
    if (bytes.toString("base64url") !== text) return undefined;
    const addresses: PackedAddress[] = [];
    for (let at = 0; at < bytes.length;) {
        const first = bytes[at] ?? 0;
        const [size, prefixLength] = first < ipv6Mark ? [4, first] : [16, first - ipv6Mark];
        const rest = bytes.subarray(at + 1, at + 1 + size);
        if (rest.length < size || prefixLength > size * 8) return undefined;
        addresses.push({ ip: ipFromBytes(rest), prefixLength });
        at += 1 + size;
    }
    return addresses;
}
