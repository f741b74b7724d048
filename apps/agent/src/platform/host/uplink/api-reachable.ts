import { createSocket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { connect } from "node:net";
import { orAborted } from "@antrea/async";
import { formatIp, parseIp } from "@antrea/ip";
import { socketAddress, type KubeClients } from "@antrea/kube";
import type { Netlink } from "@antrea/netlink";

/**
 * Whether a host, by name or address, is this Node itself: loopback or one of its addresses. A ClusterIP does not
 * count, wherever kube-proxy forwards it. Rejects if the name cannot be resolved (dns.lookup) or with NetlinkError.
 */
export async function isOwnHost(host: string, netlink: Pick<Netlink, "addresses">): Promise<boolean> {
    const [found, own] = await Promise.all([lookup(host, { all: true }), netlink.addresses()]);
    const ownTexts = new Set(own.map(({ ip }) => formatIp(ip)));
    return found.some(({ address }) => {
        const text = formatIp(parseIp(address.replace(/%.*$/, "")));
        return text === "::1" || text.startsWith("127.") || ownTexts.has(text);
    });
}

/** Any: nothing is sent. */
const anyPort = 9;

/**
 * Whether the Node sends to a host, by name or address, with an address of this link. Sends nothing: asks the kernel for
 * the source address. A ClusterIP counts by the route to it, wherever kube-proxy forwards it. False if there is no route.
 * Rejects if the name cannot be resolved (dns.lookup) or with NetlinkError.
 */
export async function leavesBy(
    host: string,
    linkName: string,
    netlink: Pick<Netlink, "addresses" | "link">,
): Promise<boolean> {
    const [{ address, family }, link] = await Promise.all([lookup(host), netlink.link(linkName)]);
    if (link === undefined) return false;
    const socket = createSocket(family === 6 ? "udp6" : "udp4");
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    socket.once("error", () => resolve(undefined));
    socket.connect(anyPort, address, () => resolve(socket.address().address));
    const source = await promise;
    socket.close();
    return source !== undefined && (await netlink.addresses(link.index)).some(({ ip }) => formatIp(ip) === source);
}

/**
 * Whether the API server accepts a new TCP connection: an existing one may appear alive long after the network is down.
 * False when the signal aborts; there is no other time limit. Rejects only if the kubeconfig cannot be read.
 */
export async function apiAnswers(
    { connection }: Pick<KubeClients, "connection">,
    signal: AbortSignal,
): Promise<boolean> {
    const { server } = await connection();
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const socket = connect(socketAddress(server));
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    try {
        return await orAborted(promise, signal).catch(() => false);
    } finally {
        socket.destroy();
    }
}
