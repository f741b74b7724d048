import { macAnnotation, noNicConnected, secondaryBridgeCondition } from "@antrea/crd";
import { type IpAddress, type Prefix } from "@antrea/ip";
import { clusterAddresses, isOutOfService } from "@antrea/ipam";
import { type Node } from "@antrea/kube";

/** The fields of a Node that commands need. */
export interface NodeInfo {
    readonly name: string;
    /** The addresses in its status: its first InternalIP of each family, then the others. */
    readonly addresses: readonly IpAddress[];
    /** Without host bits. */
    readonly podCidrs: readonly Prefix[];
    /** Its condition Ready is True. */
    readonly ready: boolean;
    /** Has the out-of-service taint: its Pods do not run. */
    readonly outOfService: boolean;
    /** In bridging mode: the Node is annotated with the MAC address of its interface. */
    readonly isBridged: boolean;
    /** Its bridge of networks other than the Pod network; undefined if its agent reports none. */
    readonly networkBridge: NetworkBridgeInfo | undefined;
}

/** What the agent of a Node reports of its bridge of networks. */
export interface NetworkBridgeInfo {
    /** All of it is as configured. */
    readonly ready: boolean;
    /** Pods can be connected, by one NIC at least. */
    readonly connectsPods: boolean;
    readonly message: string;
}

/** Reads the fields that commands need from a Node; invalid addresses and CIDRs are left out. */
export function readNode(node: Node): NodeInfo {
    const { nodeAddresses, podCidrs } = clusterAddresses([node]);
    const conditionOf = (wanted: string) => node.status?.conditions?.find(({ type }) => type === wanted);
    return {
        name: node.metadata?.name ?? "",
        addresses: nodeAddresses.flat(),
        podCidrs,
        ready: conditionOf("Ready")?.status === "True",
        outOfService: isOutOfService(node),
        isBridged: node.metadata?.annotations?.[macAnnotation] !== undefined,
        networkBridge: networkBridgeOf(conditionOf(secondaryBridgeCondition)),
    };
}

function networkBridgeOf(
    condition: { readonly status: string; readonly message?: string | undefined } | undefined,
): NetworkBridgeInfo | undefined {
    if (condition === undefined) return undefined;
    const { status, message = "" } = condition;
    const ready = status === "True";
    return { ready, connectsPods: ready || !message.endsWith(noNicConnected), message };
}
