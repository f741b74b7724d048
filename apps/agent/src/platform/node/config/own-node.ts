import { sleep, withTimeout, type Clock } from "@antrea/async";
import { AntreaError, messageOf } from "@antrea/errors";
import { formatPrefix } from "@antrea/ip";
import { podCidrTexts } from "@antrea/ipam";
import type { Netlink } from "@antrea/netlink";
import { type Logger } from "@antrea/runtime";
import type { AgentConfig } from "@antrea/settings";
import { internalIpsOf, podPrefixesOf, type NodeObject } from "../node-object.ts";
import type { Readiness } from "../../readiness.ts";
import { findTransport, gatewayIpOf, NodeConfigError, type NodeConfig } from "./node-config.ts";

/** Dependencies of awaitOwnNode; the caller starts and closes them. */
export interface OwnNodeComponents {
    /** The informer of Nodes. */
    readonly nodes: {
        synced(signal: AbortSignal): Promise<void>;
        readonly hasSynced: boolean;
        get(name: string): NodeObject | undefined;
    };
    /**
     * The Node as stored by an earlier start, used while the API server is unavailable or reports no podCIDRs for it.
     */
    readonly cachedNode: () => NodeObject | undefined;
    readonly netlink: Pick<Netlink, "links" | "addresses">;
    readonly logger: Logger;
    /** Default: `systemClock`. */
    readonly clock?: Clock;
}

/** Settings of awaitOwnNode. */
export interface OwnNodeOptions {
    readonly nodeName: string;
    readonly config: Pick<
        AgentConfig,
        "hostGateway" | "kubeAPIServerOverride" | "ovsBridge" | "transportInterface" | "transportInterfaceCIDRs"
    >;
    /**
     * Time in milliseconds after which an API server that does not answer is logged, and the stored Node used if there is
     * one. Default 3 s: Services that the switch has lost are served again only after it.
     */
    readonly syncLimitMs?: number | undefined;
}

const pollIntervalMs = 500;
const defaultSyncLimitMs = 3_000;
// A new Node gets podCIDRs within a second or two; only a Node that had some before has a stored object.
const pollsBeforeCached = 20;

/**
 * Resolves with this Node once it has podCIDRs and a transport interface; every error is logged as what it waits for,
 * and retried after 0.5 s. Rejects only if the signal aborts. A Node that had podCIDRs and has none now starts, after
 * about 10 s, with the stored ones for the interfaces already wired; `followOwnNode` prevents new Pods from getting
 * their addresses.
 */
export async function awaitOwnNode(
    components: OwnNodeComponents,
    options: OwnNodeOptions,
    signal: AbortSignal,
): Promise<NodeConfig> {
    await nodesOrMemory(components, options, signal);
    for (let lastLogged = "", polls = 1; ; polls += 1) {
        try {
            return await readOwnNode(components, options, polls > pollsBeforeCached);
        } catch (error) {
            const reason = messageOf(error);
            if (reason !== lastLogged) components.logger.warn("waiting for this Node", { reason });
            lastLogged = reason;
        }
        await sleep(pollIntervalMs, signal, components.clock);
    }
}

async function nodesOrMemory(
    { nodes, cachedNode, logger, clock }: OwnNodeComponents,
    { config, syncLimitMs = defaultSyncLimitMs }: OwnNodeOptions,
    signal: AbortSignal,
): Promise<void> {
    try {
        return await withTimeout((limit) => nodes.synced(limit), syncLimitMs, signal, clock && { clock });
    } catch {
        signal.throwIfAborted();
    }
    logger.warn("the API server does not answer", { next: howToReachIt(config.kubeAPIServerOverride) });
    if (cachedNode() === undefined) return nodes.synced(signal);
    logger.warn("starting with the cached state of this Node");
}

const howToReachIt = (override = ""): string =>
    override === ""
        ? "if no kube-proxy leads this Node to the Service kubernetes, set kubeAPIServerOverride to an address of the API server itself"
        : `check that this Node reaches ${override} (kubeAPIServerOverride)`;

async function readOwnNode(
    components: OwnNodeComponents,
    options: OwnNodeOptions,
    mayUseCached: boolean,
): Promise<NodeConfig> {
    const { netlink } = components;
    const { nodeName, config } = options;
    const node = nodeToUse(components, nodeName, mayUseCached);
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

/**
 * The Node from the API server; its podCIDRs from the stored object while the API server is unavailable or, after a
 * while, if it reports none.
 */
function nodeToUse({ nodes, cachedNode }: OwnNodeComponents, nodeName: string, mayUseCached: boolean): NodeObject {
    const node = nodes.get(nodeName);
    const mustKnow = node !== undefined && hasPodCidrs(node);
    const memory = mustKnow || (nodes.hasSynced && !mayUseCached) ? undefined : cachedNode();
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

/** Dependencies of followOwnNode; `nodes` is the informer of Nodes, which the caller closes. */
export interface OwnNodeFollowerComponents {
    readonly nodes: Pick<OwnNodeComponents["nodes"], "hasSynced" | "get"> & {
        onChange(listener: (type: unknown, key: string) => void): unknown;
    };
    /**
     * Deletion time of the Node object (wall time, milliseconds) as observed by an earlier start; undefined if none
     * observed it.
     */
    readonly goneAt?: number | undefined;
    readonly readiness: Pick<Readiness, "met" | "unmet">;
    /** Ends the process, which is then restarted. */
    readonly fail: (error: unknown) => void;
    readonly logger: Logger;
}

/**
 * Follows the Node object until the process ends: changed podCIDRs end it (`fail` with NodeConfigError
 * `POD_CIDR_CHANGED`), and while the Node has none the condition `node` is unmet, so that no Pod is wired: they may be
 * assigned to another Node. Checks at once; returns the check, to be called when the Nodes are synced. Neither throws.
 */
export function followOwnNode(components: OwnNodeFollowerComponents, node: NodeConfig): () => void {
    const { nodes, goneAt, readiness, fail, logger } = components;
    let lastLogged: string | undefined;
    const check = (): void => {
        try {
            const problem = ownNodeProblem({ nodes, goneAt }, node);
            if (problem === undefined) readiness.met("node");
            else readiness.unmet("node", problem);
            if (problem !== undefined && problem !== lastLogged)
                logger.warn("new Pods are not connected", { reason: problem });
            lastLogged = problem;
        } catch (error) {
            fail(error);
        }
    };
    nodes.onChange((_type, key) => {
        if (key === node.name) check();
    });
    check();
    return check;
}

/**
 * Why no Pod may get an address of these podCIDRs, by the last known state while the API server is unavailable. Throws
 * NodeConfigError if the Node has other podCIDRs.
 */
function ownNodeProblem(
    { nodes, goneAt }: Pick<OwnNodeFollowerComponents, "nodes" | "goneAt">,
    node: NodeConfig,
): string | undefined {
    if (nodes.hasSynced) return podCidrsProblem(nodes.get(node.name), node);
    if (goneAt === undefined) return undefined;
    const deleted = `Node ${node.name} was deleted at ${new Date(goneAt).toISOString()}`;
    return `${deleted}, and it is not known since this start whether it was recreated; ${lossOf(node)}`;
}

/**
 * Why no Pod may get an address of the podCIDRs with which the agent started, as text for users: `object` is undefined
 * (there is no Node object) or has no valid podCIDRs. Undefined if the Node still has them. Throws NodeConfigError
 * POD_CIDR_CHANGED if it has other ones. Pure function.
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
        const next = object === undefined ? "; kubelet recreates the Node when it is restarted" : "";
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
