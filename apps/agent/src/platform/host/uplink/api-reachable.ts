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
