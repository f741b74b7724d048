import { macAnnotation, transportAnnotation } from "@antrea/crd";
import { isErrorOf } from "@antrea/errors";
import { OfPort, tunnelPart, type NextTable, type PipelineInput } from "@antrea/flows";
import { formatIp, type Prefix } from "@antrea/ip";
import type { Informer, Node } from "@antrea/kube";
import { type Job } from "@antrea/runtime";
import { changesRoutes } from "../../platform/node/slim-node.ts";
import { OvsBridgeError } from "../../platform/ovs/bridge/index.ts";
import type { FeaturePipeline } from "../../platform/ovs/pipeline.ts";
import type { Platform } from "../../platform/platform.ts";
import {
    bridgeRows,
    checkTunnelType,
    refusedTunnelPort,
    tunnelBridgeProblem,
} from "../../platform/ovs/datapath/index.ts";
import type { NodeConfig } from "../../platform/node/config/index.ts";
import { Peers } from "./peers.ts";
import type { RouteWatch } from "./route-watch.ts";
import { removeTunnelPorts, TunnelPort } from "./tunnel/index.ts";
import { antreaRouteProtocol, podRouteProtocol } from "../../platform/kernel-ids.ts";
import { nodeMtuProblem, TransportAnnouncement, type Transport } from "../../platform/host/transport/index.ts";

const resyncMs = 60_000;
const transportLookMs = 2_000;

/** The name of the readiness condition that tunnel packets can leave the Node. */
const tunnelCondition = "tunnel";
/**
 * The name of the readiness condition that the MTU suffices for the families of Pods. Present only while it is unmet.
 */
const mtuCondition = "mtu";

/** Builds the node routes from the Nodes and the transport interface. */
export function buildPeers(
    { clock, netlink, flowTable, logger, metrics, nodes, environment, config, mode }: Platform,
    {
        podPrefixes,
        transport,
        next,
        gatewayMac,
    }: {
        readonly podPrefixes: readonly Prefix[];
        readonly transport: Transport;
        readonly next: NextTable;
        readonly gatewayMac: () => Uint8Array;
    },
): Peers {
    return new Peers(
        {
            netlink,
            flowTable,
            next,
            gatewayMac,
            logger: logger.child("node-routes"),
            metrics,
            clock,
            nodes: () => nodes.list(),
            context: () => {
                const { subnets } = transport.state;
                return { mode, subnets, tunnelFamily: transport.underlay, bridging: config.enableBridgingMode };
            },
            transportIndex: () => transport.state.index,
        },
        { nodeName: environment.nodeName, podPrefixes, gatewayName: config.hostGateway },
    );
}

/** Adds the jobs that update node routes on changes of Node objects and of the transport interface. */
export function addRouteJobs(
    platform: Platform,
    parts: {
        readonly node: NodeConfig;
        readonly transport: Transport;
        readonly peers: Peers;
        /** Watches the agent's routes. */
        readonly routes: RouteWatch;
        /** The job that sets MTUs, among other things. */
        readonly ovs: Job;
        /** In bridging mode: the MAC address of the Node's interface, which is announced to other Nodes. */
        readonly bridgedMac: (() => string) | undefined;
        /** In bridging mode: registers a listener for changes of the Service CIDRs, including their first sync. */
        readonly onServiceCidrs: ((listener: () => void) => void) | undefined;
        /** To be called when OVS has the flows to all Nodes. */
        readonly forgetEarlier: (limit: AbortSignal) => Promise<void>;
    },
): void {
    const { config, datapath, database, environment, jobs, kube, logger, mode, nodes, openflow, readiness } = platform;
    const { transport, peers, routes, ovs, forgetEarlier } = parts;
    // While the Nodes are not synced, the routes of an earlier start are kept.
    const routing = jobs.every("node-routes/peers", resyncMs, async (limit) => {
        await nodes.synced(limit);
        const { hasAllFlows, againInMs } = await peers.pass(limit);
        if (hasAllFlows) await forgetEarlier(limit);
        return { againInMs };
    });
    const compareRoutes = (): void => {
        peers.askForFull();
        routing.trigger();
    };
    const announcement = new TransportAnnouncement(
        {
            api: kube.api,
            node: () => nodes.get(environment.nodeName),
            logger: logger.child("node-routes"),
        },
        { nodeName: environment.nodeName },
    );
    const isChosen = config.transportInterface !== undefined || config.transportInterfaceCIDRs.length > 0;
    const announcing = jobs.every("node-routes/transport-addresses", resyncMs, async (limit) => {
        await nodes.synced(limit);
        const { addresses } = transport.state;
        const texts = isChosen && addresses.length > 0 ? addresses.map(formatIp).join(",") : undefined;
        const mac = parts.bridgedMac?.();
        await announcement.reconcile({ [transportAnnotation]: texts, [macAnnotation]: mac }, limit);
    });
    jobs.every("node-routes/transport", transportLookMs, async () => {
        const gone = routes.take();
        if (gone.has(antreaRouteProtocol)) compareRoutes();
        if (gone.has(podRouteProtocol)) ovs.trigger();
        await transport.look();
        const tooSmall = nodeMtuProblem(config, parts.node, transport);
        if (tooSmall === undefined) readiness.met(mtuCondition);
        else readiness.unmet(mtuCondition, tooSmall);
        if (mode === "noEncap") return;
        const problem = datapath.tunnelsNeedBridge
            ? tunnelBridgeProblem(bridgeRows(database), transport.state.name)
            : undefined;
        if (problem === undefined) readiness.met(tunnelCondition);
        else readiness.unmet(tunnelCondition, problem);
    });
    transport.onChange(() => {
        compareRoutes();
        announcing.trigger();
        ovs.trigger();
    });
    // The earlier flows to Services may be deleted then.
    parts.onServiceCidrs?.(compareRoutes);
    // The gateway may have been recreated, without the routes through it.
    openflow.onReady(compareRoutes);
    onNodeChange(nodes, (name) => {
        routing.trigger();
        if (name === environment.nodeName) announcing.trigger();
    });
}

function onNodeChange(nodes: Informer<Node>, listener: (name: string) => void): void {
    nodes.onChange((type, key, object, old) => {
        if (changesRoutes(type, object, old)) listener(key);
    });
}

/**
 * The tunnel tables and flows of the pipeline; `input` is evaluated each time the flows are built. Creates the tunnel
 * port, or removes one that a start in another mode left.
 */
export function tunnelPipeline(
    { config, mode, bridge, database, datapath }: Platform,
    input: () => PipelineInput,
    startLimitMs: number,
): FeaturePipeline {
    const { tunnelType } = config;
    if (mode === "noEncap") {
        return {
            tables: [],
            parts: async (limit) => {
                await removeTunnelPorts(bridge, limit);
                return [];
            },
        };
    }
    const port = new TunnelPort(
        { ports: bridge },
        { ofPort: OfPort.tunnel, type: tunnelType, destinationPort: config.tunnelPort, csum: config.tunnelCsum },
    );
    const ensure = async (limit: AbortSignal): Promise<number> => {
        await checkTunnelType(database, { datapath, tunnelType }, { timeoutMs: startLimitMs, signal: limit });
        try {
            return await port.ensure(limit);
        } catch (error) {
            if (!isErrorOf(OvsBridgeError, error, "PORT_REFUSED")) throw error;
            throw refusedTunnelPort(datapath, tunnelType, error);
        }
    };
    return { tables: [], parts: async (limit) => [tunnelPart({ ofPort: await ensure(limit), ...input() })] };
}
