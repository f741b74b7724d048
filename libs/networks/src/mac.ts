import { formatMac, IpError, parseMac } from "@antrea/ip";

/** A MAC address as "aa:bb:cc:dd:ee:ff" in lower case, or the rule that the text breaks, with the next step. */
export function interfaceMac(
    text: string,
): { readonly mac: string } | { readonly rule: string; readonly next: string } {
    let mac: Uint8Array;
    try {
        mac = parseMac(text);
    } catch (error) {
        if (!(error instanceof IpError)) throw error;
        const next = "write six pairs of hexadecimal digits with colons between, as 02:00:00:00:00:01";
        return { rule: `is refused: ${error.details.rule ?? error.message}`, next };
    }
    // The lowest bit of the first byte marks a group address (IEEE 802).
    if (((mac[0] ?? 0) & 1) === 1) {
        return { rule: "is a multicast address", next: "choose one whose second digit is even" };
    }
    if (mac.every((byte) => byte === 0)) {
        return { rule: "is no address of an interface", next: "write another one, as 02:00:00:00:00:01" };
    }
    return { mac: formatMac(mac) };
}
