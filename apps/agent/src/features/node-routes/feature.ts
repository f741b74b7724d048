import { macAnnotation, transportAnnotation } from "@antrea/crd";
import { formatIp, type Prefix } from "@antrea/ip";
import type { Feature } from "../../platform/feature.ts";
import { nodeMtuProblem, TransportAnnouncement } from "../../platform/host/transport/index.ts";
import { antreaRouteProtocol, podRouteProtocol } from "../../platform/kernel-ids.ts";
import { changesRoutes } from "../../platform/node/node-changes.ts";
import type { NodePlatform } from "../../platform/node-platform.ts";
import { bridgeRows, tunnelBridgeProblem } from "../../platform/ovs/datapath/index.ts";
import { Peers } from "./peers.ts";
import { RouteWatch } from "./route-watch.ts";
import { tunnelPipeline } from "./tunnel/index.ts";

const resyncMs = 60_000;
const transportCheckMs = 2_000;

/** The name of the readiness condition that tunnel packets can leave the Node. */
const tunnelCondition = "tunnel";
/**
 * The name of the readiness condition that the MTU suffices for the families of Pods. Present only while it is unmet.
 */
const mtuCondition = "mtu";

/** The Pod network of this Node, as node routes use it. */
export interface LocalPods {
    /** Whether a Pod of this Node needs the host route to this destination. */
    isRouted(dst: Prefix): boolean;
    /** Triggers the repair of the routes to Pods and of their MTU. */
    resync(): void;
}

/** Services in OVS, as node routes use them. */
export interface LocalServices {
    /** Registers a listener that is called once, when OVS has all Services. */
    onComplete(listener: () => void): void;
}

/**
 * Routes to the Pods of other Nodes, updated on changes of Node objects and of the transport interface, and the tunnel
 * port. Sets the readiness conditions `tunnel`, except in mode noEncap, and `mtu`, and announces the transport
 * addresses by annotations of this Node's object. The routes stay when the agent stops.
 */
export function nodeRoutes(platform: NodePlatform, pods: LocalPods, services: LocalServices): Feature {
    const { config, netlink, nodes } = platform;
    const peers = peersOf(platform);
    let routes: RouteWatch | undefined;
    return {
        name: "node-routes",
        pipeline: tunnelPipeline(platform),
        stage: () => {
            routes = new RouteWatch(
                { netlink },
                {
                    protocols: [antreaRouteProtocol, podRouteProtocol],
                    linkName: config.hostGateway,
                    // Each DEL of a Pod deletes its route, which must not trigger a check of all Pods.
                    isWanted: ({ protocol, dst }) => protocol !== podRouteProtocol || pods.isRouted(dst),
                },
            );
            if (nodes.hasSynced) peers.stage();
        },
        start: () => {
            const compareRoutes = addPeersJob(platform, peers, services);
            const announce = addAnnouncementJob(platform);
            addTransportJob(platform, () => {
                const gone = routes?.take();
                if (gone?.has(antreaRouteProtocol)) compareRoutes();
                if (gone?.has(podRouteProtocol)) pods.resync();
            });
            platform.transport.onChange(() => {
                compareRoutes();
                announce();
                pods.resync();
            });
        },
        stop: () => routes?.[Symbol.dispose](),
    };
}

function peersOf(platform: NodePlatform): Peers {
    const { clock, config, environment, flowTable, gateway, logger, metrics, mode } = platform;
    const { netlink, node, nodes, pipeline, transport } = platform;
    return new Peers(
        {
            netlink,
            flowTable,
            next: pipeline,
            gatewayMac: () => gateway.mac,
            servesServices: platform.servesServices,
            logger: logger.child("node-routes"),
            metrics,
            clock,
            nodes: () => nodes.list(),
            context: () => {
                const { subnets } = transport.state;
                return { mode, subnets, tunnelFamily: transport.tunnelFamily, bridging: config.enableBridgingMode };
            },
            transportIndex: () => transport.state.index,
        },
        { nodeName: environment.nodeName, podPrefixes: node.podPrefixes, gatewayName: config.hostGateway },
    );
}

/** Adds the job that updates the routes; returns a function that compares all of them with the kernel's. */
function addPeersJob(
    { flowStart, jobs, nodes, openflow, services: cidrs }: NodePlatform,
    peers: Peers,
    services: LocalServices,
): () => void {
    // While the Nodes are not synced, the routes of an earlier start are kept.
    const routing = jobs.every("node-routes/peers", resyncMs, async (limit) => {
        await nodes.synced(limit);
        const { hasAllFlows, ...result } = await peers.pass(limit);
        if (hasAllFlows) await flowStart.deleteLearned(limit);
        return result;
    });
    const compareRoutes = (): void => {
        peers.askForFull();
        routing.trigger();
    };
    // The earlier flows to Services may be deleted then.
    cidrs?.onServiceCidrs(compareRoutes);
    services.onComplete(() => routing.trigger());
    // The gateway may have been recreated, without the routes through it.
    openflow.onReady(compareRoutes);
    nodes.onChange((type, _name, object, old) => {
        if (changesRoutes(type, object, old)) routing.trigger();
    });
    return compareRoutes;
}

/** Adds the job that announces the transport interface to other Nodes; returns a function that triggers it. */
function addAnnouncementJob({
    bridgedMac,
    config,
    environment: { nodeName },
    jobs,
    kube,
    logger,
    nodes,
    transport,
}: NodePlatform): () => void {
    const announcement = new TransportAnnouncement(
        { api: kube.api, node: () => nodes.get(nodeName), logger: logger.child("node-routes") },
        { nodeName },
    );
    const isChosen = config.transportInterface !== undefined || config.transportInterfaceCIDRs.length > 0;
    const announcing = jobs.every("node-routes/transport-addresses", resyncMs, async (limit) => {
        await nodes.synced(limit);
        const { addresses } = transport.state;
        const texts = isChosen && addresses.length > 0 ? addresses.map(formatIp).join(",") : undefined;
        await announcement.reconcile({ [transportAnnotation]: texts, [macAnnotation]: bridgedMac }, limit);
    });
    nodes.onChange((type, name, object, old) => {
        if (name === nodeName && changesRoutes(type, object, old)) announcing.trigger();
    });
    return () => announcing.trigger();
}

/** Adds the job that reads the transport interface and reports whether tunnel packets can leave the Node. */
function addTransportJob(
    { config, database, datapath, jobs, mode, node, readiness, transport }: NodePlatform,
    checkRoutes: () => void,
): void {
    // Until the first check: a Pod must not be wired whose packets cannot leave the Node.
    if (mode !== "noEncap") readiness.unmet(tunnelCondition, "the path of tunnel packets has not been checked yet");
    jobs.every("node-routes/transport", transportCheckMs, async () => {
        checkRoutes();
        await transport.check();
        const tooSmall = nodeMtuProblem(config, node, transport);
        if (tooSmall === undefined) readiness.met(mtuCondition);
        else readiness.unmet(mtuCondition, tooSmall);
        if (mode === "noEncap") return;
        const problem = datapath.tunnelsNeedBridge
            ? tunnelBridgeProblem(bridgeRows(database), transport.state.name)
            : undefined;
        if (problem === undefined) readiness.met(tunnelCondition);
        else readiness.unmet(tunnelCondition, problem);
    });
}
