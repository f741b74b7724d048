/** The parts one after another, in an array of its own. */
export function concatBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
    const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let offset = 0;
    for (const part of parts) {
        whole.set(part, offset);
        offset += part.length;
    }
    return whole;
}

/**
 * The Internet checksum (RFC 1071) of the parts one after another, 16 bits, for a packet whose own field is 0. Only the last
 * part may have an odd number of bytes. Of IPv6, and of all but ICMP and the header of IPv4, a pseudo-header is a part.
 */
export function internetChecksum(parts: readonly Uint8Array[]): number {
    let sum = 0;
    for (const part of parts)
        for (let at = 0; at < part.length; at += 2) sum += ((part[at] ?? 0) << 8) | (part[at + 1] ?? 0);
    while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
    return ~sum & 0xffff;
}
