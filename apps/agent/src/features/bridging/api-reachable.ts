import { lookup } from "node:dns/promises";
import { connect } from "node:net";
import { orAborted } from "@antrea/async";
import { formatIp, parseIp } from "@antrea/ip";
import { socketAddress, type KubeClients } from "@antrea/kube";
import type { Netlink } from "@antrea/netlink";

/**
 * True for a host that is this Node itself: its loopback, or one of its addresses. A ClusterIP is none, wherever
 * kube-proxy leads it.
 */
export async function isOwnHost(host: string, netlink: Pick<Netlink, "addresses">): Promise<boolean> {
    const [found, own] = await Promise.all([lookup(host, { all: true }), netlink.addresses()]);
    const ownTexts = new Set(own.map(({ ip }) => formatIp(ip)));
    return found.some(({ address }) => {
        const text = formatIp(parseIp(address.replace(/%.*$/, "")));
        return text === "::1" || text.startsWith("127.") || ownTexts.has(text);
    });
}

/** True when the API server takes a new connection: one that is open already may look alive long after a cut. */
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
