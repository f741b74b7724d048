import { AntreaError, messageOf } from "@antrea/errors";
import { formatPrefix } from "@antrea/ip";
import type { Netlink } from "@antrea/netlink";
import { sleep, type Logger } from "@antrea/runtime";
import type { AgentConfig } from "@antrea/settings";
import { internalIpsOf, podPrefixesOf, type NodeObject } from "../node-object.ts";
import { findTransport, gatewayIpOf, NodeConfigError, type NodeConfig } from "./node-config.ts";

export interface OwnNodeComponents {
    readonly nodes: {
        synced(signal: AbortSignal): Promise<void>;
        readonly hasSynced: boolean;
        get(name: string): NodeObject | undefined;
    };
    /** What an earlier start knew of this Node, for one while the API server is away. */
    readonly remembered: () => NodeObject | undefined;
    readonly netlink: Pick<Netlink, "links" | "addresses">;
    readonly logger: Logger;
}

export interface OwnNodeOptions {
    readonly nodeName: string;
    readonly config: Pick<AgentConfig, "hostGateway" | "transportInterface" | "transportInterfaceCIDRs">;
    /** How long the API server has to answer before what is remembered must do. Default 10 s. */
    readonly syncLimitMs?: number | undefined;
}

const lookIntervalMs = 500;
const defaultSyncLimitMs = 10_000;

/** Waits until this Node has podCIDRs and a transport interface; the log says what it waits for. */
export async function awaitOwnNode(
    components: OwnNodeComponents,
    options: OwnNodeOptions,
    signal: AbortSignal,
): Promise<NodeConfig> {
    await nodesOrMemory(components, options.syncLimitMs ?? defaultSyncLimitMs, signal);
    for (let said = ""; ;) {
        try {
            return await readOwnNode(components, options);
        } catch (error) {
            const reason = messageOf(error);
            if (reason !== said) components.logger.warn("waiting for this Node", { reason });
            said = reason;
        }
        await sleep(lookIntervalMs, signal);
    }
}

async function nodesOrMemory(
    { nodes, remembered, logger }: OwnNodeComponents,
    syncLimitMs: number,
    signal: AbortSignal,
): Promise<void> {
    if (remembered() === undefined) return nodes.synced(signal);
    try {
        await nodes.synced(AbortSignal.any([signal, AbortSignal.timeout(syncLimitMs)]));
    } catch {
        signal.throwIfAborted();
        logger.warn("the API server is away; starting with what is remembered of this Node");
    }
}

async function readOwnNode(components: OwnNodeComponents, options: OwnNodeOptions): Promise<NodeConfig> {
    const { nodes, netlink, remembered } = components;
    const { nodeName, config } = options;
    const node = nodes.get(nodeName) ?? (nodes.hasSynced ? undefined : remembered());
    if (node === undefined) {
        throw new NodeConfigError("NO_NODE", "environment", `the API server has no Node ${nodeName} (NODE_NAME)`);
    }
    const podPrefixes = podPrefixesOf(node);
    const transport = findTransport({
        nodeName,
        nodeIps: internalIpsOf(node),
        links: await netlink.links(),
        addresses: await netlink.addresses(),
        gatewayName: config.hostGateway,
        transportInterface: config.transportInterface ?? "",
        transportInterfaceCidrs: config.transportInterfaceCIDRs,
    });
    return {
        name: nodeName,
        podPrefixes,
        gatewayIps: podPrefixes.map(gatewayIpOf),
        transport,
    };
}

/** Throws NodeConfigError when this object is the same Node with other podCIDRs; what cannot be read changes nothing. */
export function refuseOtherPodCidrs(object: NodeObject, node: NodeConfig): void {
    if (object.metadata?.name !== node.name) return;
    const before = node.podPrefixes.map(formatPrefix).join();
    const after = readablePodCidrs(object);
    if (after === undefined || after === before) return;
    throw new NodeConfigError(
        "POD_CIDR_CHANGED",
        "environment",
        `the podCIDRs of this Node changed from ${before} to ${after}; starting again with the new ones`,
    );
}

function readablePodCidrs(object: NodeObject): string | undefined {
    try {
        return podPrefixesOf(object).map(formatPrefix).join();
    } catch (error) {
        if (error instanceof AntreaError) return undefined;
        throw error;
    }
}
