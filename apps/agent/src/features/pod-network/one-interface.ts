import type { Netlink } from "@antrea/netlink";
import { isPeerIn, type PodNamespaces } from "./link.ts";
import {
    type AddRequest,
    containerOfAlias,
    isOfNetwork,
    networkText,
    type PodInterface,
} from "../../platform/pod-interfaces/index.ts";
import { PodNetworkError } from "./errors.ts";

/**
 * Throws PodNetworkError `SECOND_INTERFACE` for a second interface of a container: it would take over the default route
 * of the first one, and waste an address. Interfaces that are being removed do not count.
 */
export function refuseSecond({ containerId, ifName }: AddRequest, interfaces: readonly PodInterface[]): void {
    const other = interfaces.find(({ record }) => record.containerId === containerId && record.ifName !== ifName);
    if (other === undefined) return;
    throw new PodNetworkError(
        "SECOND_INTERFACE",
        "caller",
        `container ${containerId} has interface ${other.record.ifName} on the Pod network already, and ${ifName} is refused: a Pod gets one interface of it; next: take the network of type "antrea" that asks for ${ifName} out of the Pod's annotation k8s.v1.cni.cncf.io/networks, or let another plugin serve it`,
    );
}

/**
 * Throws PodNetworkError `SECOND_INTERFACE` if another network has the interface: CNI treats the two as different
 * attachments. No effect if the record does not identify its network.
 */
export function refuseOtherNetwork({ record }: PodInterface, { network }: AddRequest): void {
    if (record.network === undefined || isOfNetwork(record.network, network) !== false) return;
    const { containerId, ifName } = record;
    throw new PodNetworkError(
        "SECOND_INTERFACE",
        "caller",
        `container ${containerId} has interface ${ifName} of ${networkText(record.network)} already, and network "${network}" asks for the same; next: take network "${network}" out of the Pod's annotation k8s.v1.cni.cncf.io/networks, or DEL ${ifName} first`,
    );
}

/**
 * Throws PodNetworkError `OTHER_NETNS` if the container has the interface in another network namespace. No effect if the
 * record does not identify its namespace.
 */
export function refuseOtherNamespace({ record }: PodInterface, { containerId, ifName, netns }: AddRequest): void {
    if (record.netns === netns || record.netns === "") return;
    throw new PodNetworkError(
        "OTHER_NETNS",
        "caller",
        `container ${containerId} has interface ${ifName} in ${record.netns} already, not in ${netns}; DEL it first`,
    );
}

/**
 * Rejects with PodNetworkError `OTHERS_NETNS` if another container has its interface in the network namespace: the path
 * /proc/PID/ns/net leads there if the PID of an ended process was reused by that container. Checked in the kernel
 * rather than by path, because the record of an older container may have the same, outdated path. Rejects as
 * `checkNamespace` if there is no such namespace, and with NetlinkError if links cannot be read.
 */
export async function refuseOthersNamespace(
    request: AddRequest,
    netlink: Pick<Netlink, "link" | "netnsId">,
    namespaces: PodNamespaces,
): Promise<void> {
    const { containerId, netns, podNamespace, podName } = request;
    using pod = namespaces.openIn(netns);
    for (const { index, kind, name, peerIndex } of await pod.links()) {
        if (kind !== "veth" || peerIndex === undefined) continue;
        const host = await netlink.link(peerIndex);
        if (host?.kind !== "veth" || host.peerIndex !== index) continue;
        const owner = containerOfAlias(host.alias) ?? "";
        if (owner === "" || owner === containerId) continue;
        if (!(await isPeerIn(netlink, host, netns))) continue;
        throw new PodNetworkError(
            "OTHERS_NETNS",
            "caller",
            `${netns} is the network namespace of container ${owner}, whose interface ${name} is in it, not of container ${containerId}; the process it names may have ended, and another one have its number now; next: let the runtime make the sandbox of Pod ${podNamespace}/${podName} anew`,
        );
    }
}
