import { sleep, type Clock } from "@antrea/async";
import { AntreaError, messageOf } from "@antrea/errors";
import { formatPrefix } from "@antrea/ip";
import { podCidrTexts } from "@antrea/ipam";
import type { Netlink } from "@antrea/netlink";
import { type Logger } from "@antrea/runtime";
import type { AgentConfig } from "@antrea/settings";
import { internalIpsOf, podPrefixesOf, type NodeObject } from "../node-object.ts";
import type { Readiness } from "../../readiness.ts";
import { findTransport, gatewayIpOf, NodeConfigError, type NodeConfig } from "./node-config.ts";

export interface OwnNodeComponents {
    readonly nodes: {
        synced(signal: AbortSignal): Promise<void>;
        readonly hasSynced: boolean;
        get(name: string): NodeObject | undefined;
    };
    /** What an earlier start knew of this Node, for one while the API server is away or has no podCIDRs for it. */
    readonly remembered: () => NodeObject | undefined;
    readonly netlink: Pick<Netlink, "links" | "addresses">;
    readonly logger: Logger;
    readonly clock?: Clock;
}

export interface OwnNodeOptions {
    readonly nodeName: string;
    readonly config: Pick<AgentConfig, "hostGateway" | "ovsBridge" | "transportInterface" | "transportInterfaceCIDRs">;
    /** How long the API server has to answer before what is remembered must do. Default 10 s. */
    readonly syncLimitMs?: number | undefined;
}

const lookIntervalMs = 500;
const defaultSyncLimitMs = 10_000;
// A Node that joins has podCIDRs in a second or two; only of one that had some before is anything remembered.
const looksWithoutMemory = 20;

/**
 * Waits until this Node has podCIDRs and a transport interface; the log says what it waits for. A Node that had podCIDRs
 * and has none now is taken with those for what is wired already; `followOwnNode` sees to it that no new Pod gets any.
 */
export async function awaitOwnNode(
    components: OwnNodeComponents,
    options: OwnNodeOptions,
    signal: AbortSignal,
): Promise<NodeConfig> {
    await nodesOrMemory(components, options.syncLimitMs ?? defaultSyncLimitMs, signal);
    for (let said = "", looks = 1; ; looks += 1) {
        try {
            return await readOwnNode(components, options, looks > looksWithoutMemory);
        } catch (error) {
            const reason = messageOf(error);
            if (reason !== said) components.logger.warn("waiting for this Node", { reason });
            said = reason;
        }
        await sleep(lookIntervalMs, signal, components.clock);
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
        logger.warn("API server is unavailable; starting with the cached state of this Node");
    }
}

async function readOwnNode(
    components: OwnNodeComponents,
    options: OwnNodeOptions,
    mayRemember: boolean,
): Promise<NodeConfig> {
    const { netlink } = components;
    const { nodeName, config } = options;
    const node = nodeToUse(components, nodeName, mayRemember);
    const podPrefixes = podPrefixesOf(node);
    const transport = findTransport({
        nodeName,
        nodeIps: internalIpsOf(node),
        links: await netlink.links(),
        addresses: await netlink.addresses(),
        own: { hostGateway: config.hostGateway, ovsBridge: config.ovsBridge },
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

/** The Node by the API server; its podCIDRs by memory while that is away or, after a while, when it has none for it. */
function nodeToUse({ nodes, remembered }: OwnNodeComponents, nodeName: string, mayRemember: boolean): NodeObject {
    const node = nodes.get(nodeName);
    const mustKnow = node !== undefined && hasPodCidrs(node);
    const memory = mustKnow || (nodes.hasSynced && !mayRemember) ? undefined : remembered();
    if (memory !== undefined) return { ...memory, ...node, spec: memory.spec ?? {} };
    if (node !== undefined) return node;
    throw noNode(nodeName);
}

function noNode(nodeName: string): NodeConfigError {
    return new NodeConfigError("NO_NODE", "environment", `the API server has no Node ${nodeName} (NODE_NAME)`);
}

function hasPodCidrs(node: NodeObject): boolean {
    return podCidrTexts(node).length > 0;
}

export interface OwnNodeFollowerComponents {
    readonly nodes: Pick<OwnNodeComponents["nodes"], "hasSynced" | "get"> & {
        onChange(listener: (type: unknown, key: string) => void): unknown;
    };
    /** When the Node object was deleted, in milliseconds of wall time, by what an earlier start heard. */
    readonly goneAt?: number | undefined;
    readonly readiness: Pick<Readiness, "met" | "unmet">;
    /** Ends the process, which starts again. */
    readonly fail: (error: unknown) => void;
    readonly logger: Logger;
}

/**
 * Follows the Node object: other podCIDRs end the process, and as long as the Node has none no Pod is wired, because
 * those that were its own may be another Node's by now. Returns the look itself, for when the Nodes become known.
 */
export function followOwnNode(components: OwnNodeFollowerComponents, node: NodeConfig): () => void {
    const { nodes, goneAt, readiness, fail, logger } = components;
    let said: string | undefined;
    const look = (): void => {
        try {
            const problem = ownNodeProblem({ nodes, goneAt }, node);
            if (problem === undefined) readiness.met("node");
            else readiness.unmet("node", problem);
            if (problem !== undefined && problem !== said)
                logger.warn("new Pods are not connected", { reason: problem });
            said = problem;
        } catch (error) {
            fail(error);
        }
    };
    nodes.onChange((_type, key) => {
        if (key === node.name) look();
    });
    look();
    return look;
}

/**
 * Why no Pod may get an address of these podCIDRs. While the API server is away it goes by what was heard last. Throws
 * NodeConfigError when the Node has other ones.
 */
function ownNodeProblem(
    { nodes, goneAt }: Pick<OwnNodeFollowerComponents, "nodes" | "goneAt">,
    node: NodeConfig,
): string | undefined {
    if (nodes.hasSynced) return podCidrsProblem(nodes.get(node.name), node);
    if (goneAt === undefined) return undefined;
    const deleted = `Node ${node.name} was deleted at ${new Date(goneAt).toISOString()}`;
    return `${deleted}, and the API server has not said since this start whether it is back; ${lossOf(node)}`;
}

/**
 * Why no Pod may get an address of the podCIDRs that the agent began with, by its Node object as it is now; undefined: the
 * Node has them. Throws NodeConfigError POD_CIDR_CHANGED when it has other ones.
 */
export function podCidrsProblem(
    object: NodeObject | undefined,
    { name, podPrefixes }: Pick<NodeConfig, "name" | "podPrefixes">,
): string | undefined {
    const before = podPrefixes.map(formatPrefix).join();
    let after: string;
    try {
        if (object === undefined) throw noNode(name);
        after = podPrefixesOf(object).map(formatPrefix).join();
    } catch (error) {
        if (!(error instanceof AntreaError)) throw error;
        const next = object === undefined ? "; kubelet makes the Node again when it is restarted" : "";
        return `${error.message}; ${lossOf({ podPrefixes })}${next}`;
    }
    if (after === before) return undefined;
    throw new NodeConfigError(
        "POD_CIDR_CHANGED",
        "environment",
        `the podCIDRs of this Node changed from ${before} to ${after}; starting again with the new ones`,
    );
}

function lossOf({ podPrefixes }: Pick<NodeConfig, "podPrefixes">): string {
    return `it had ${podPrefixes.map(formatPrefix).join()}, which may since be assigned to another Node`;
}
