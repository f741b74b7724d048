import { createHash } from "node:crypto";
import { formatMac, ipToBytes, type IpAddress } from "@antrea/ip";

/**
 * The name of the host end of a Pod's veth pair, at most 15 characters (IFNAMSIZ - 1): eight of the Pod's name and six
 * hexadecimal digits of a SHA-1 over the container ID, and `ifName` if it is not eth0, as in upstream Antrea, so that
 * DEL can derive it.
 *
 * @param attempt incremented by the caller while another container has the name: six digits may collide
 */
export function hostInterfaceName(podName: string, containerId: string, ifName: string, attempt = 0): string {
    const digest = createHash("sha1").update(containerId);
    if (ifName !== "eth0") digest.update(ifName);
    if (attempt > 0) digest.update(String(attempt));
    const prefix = podName
        .slice(0, 8)
        .replace(/^-+/, "")
        .replaceAll(/[^a-zA-Z0-9.-]/g, "-");
    return `${prefix === "" ? "pod" : prefix}-${digest.digest("hex").slice(0, 6)}`;
}

/**
 * The MAC address derived from an IP address, as text: 0a:58 followed by its four bytes, or by four bytes of a hash of
 * an IPv6 address. A new Pod with a reused address has the MAC address that neighbour caches still hold, so a stale
 * entry cannot break its traffic.
 */
export function macOf(ip: IpAddress): string {
    const bytes = ipToBytes(ip);
    const tail = ip.family === 4 ? bytes : createHash("sha1").update(bytes).digest();
    return formatMac(Uint8Array.of(0x0a, 0x58, tail[0] ?? 0, tail[1] ?? 0, tail[2] ?? 0, tail[3] ?? 0));
}

/**
 * The MAC address of the host end, which never sends a frame of its own: that of the Pod with the first byte 0e. Both
 * as text.
 */
export function hostMacOf(podMac: string): string {
    return `0e${podMac.slice(2)}`;
}

/**
 * The MAC address of an interface whose addresses are not known yet, as text: 0a:5a and four bytes of a hash of the
 * container ID, so that it differs from every one of `macOf`.
 */
export function draftMacOf(containerId: string): string {
    const tail = createHash("sha1").update(containerId).digest();
    return formatMac(Uint8Array.of(0x0a, 0x5a, tail[0] ?? 0, tail[1] ?? 0, tail[2] ?? 0, tail[3] ?? 0));
}
