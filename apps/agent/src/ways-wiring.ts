import { systemClock } from "@antrea/async";
import { macAnnotation, transportAnnotation } from "@antrea/crd";
import { formatIp, type Prefix } from "@antrea/ip";
import type { Informer, Node } from "@antrea/kube";
import { type Job } from "@antrea/runtime";
import { changesRoutes } from "./cluster.ts";
import type { Base } from "./compose.ts";
import { bridgeRows, tunnelBridgeProblem } from "./datapath/index.ts";
import type { NodeConfig } from "./node-config/index.ts";
import { antreaRouteProtocol, LookPlan, Peers, type RouteWatch } from "./peers/index.ts";
import { mtuProblemOf } from "./pod-wiring.ts";
import { podRouteProtocol } from "./pod-network/index.ts";
import { TransportAnnouncement, type Transport } from "./transport/index.ts";

const resyncMs = 60_000;
const transportLookMs = 2_000;

/** The name of the condition that tunnels can leave the Node. */
export const tunnelCondition = "tunnel";
/** The name of the condition that the MTU is enough for the families of Pods. Missing only while it is not. */
const mtuCondition = "mtu";

export function buildPeers(
    { netlink, flowTable, logger, nodeInformer, environment, config, mode, bridging }: Base,
    {
        podPrefixes,
        transport,
        gatewayMac,
    }: {
        readonly podPrefixes: readonly Prefix[];
        readonly transport: Transport;
        readonly gatewayMac: () => Uint8Array;
    },
): Peers {
    return new Peers(
        {
            netlink,
            flowTable,
            gatewayMac,
            logger: logger.child("peers"),
            nodes: () => nodeInformer.list(),
            underlay: () => {
                const { subnets } = transport.state;
                return { mode, subnets, family: transport.underlay, bridging: bridging !== undefined };
            },
            transportIndex: () => transport.state.index,
        },
        { nodeName: environment.nodeName, podPrefixes, gatewayName: config.hostGateway },
    );
}

/** The ways to other Nodes follow the Node objects and the transport interface. */
export function addWaysJobs(
    base: Base,
    parts: {
        readonly node: NodeConfig;
        readonly transport: Transport;
        readonly peers: Peers;
        /** Of the routes of the agent. */
        readonly routes: RouteWatch;
        /** Sets MTUs, among other things. */
        readonly ovs: Job;
        /** To be called when all ways are in place. */
        readonly forgetEarlier: (limit: AbortSignal) => Promise<void>;
    },
): void {
    const { bridging, config, datapath, database, environment, ipPools, jobs, kube, logger, mode, nodeInformer } = base;
    const { openflow, readiness } = base;
    const { transport, peers, routes, ovs, forgetEarlier } = parts;
    // Without the Nodes, while the API server is away, what an earlier start set stays as it is.
    const plan = new LookPlan({ clock: systemClock }, { everyMs: resyncMs });
    const ways = jobs.every("peers", resyncMs, async (limit) => {
        await nodeInformer.synced(limit);
        await plan.run({ full: () => peers.reconcile(limit), update: () => peers.update(limit) });
        await forgetEarlier(limit);
    });
    const lookAtWays = (): void => {
        plan.askForFull();
        ways.trigger();
    };
    const announcement = new TransportAnnouncement(
        {
            api: kube.api,
            node: () => nodeInformer.get(environment.nodeName),
            logger: logger.child("transport"),
        },
        { nodeName: environment.nodeName },
    );
    const isChosen = config.transportInterface !== undefined || config.transportInterfaceCIDRs.length > 0;
    const announcing = jobs.every("transport-addresses", resyncMs, async (limit) => {
        await nodeInformer.synced(limit);
        const { addresses } = transport.state;
        const texts = isChosen && addresses.length > 0 ? addresses.map(formatIp).join(",") : undefined;
        const mac = bridging?.mac;
        await announcement.reconcile({ [transportAnnotation]: texts, [macAnnotation]: mac }, limit);
    });
    jobs.every("transport", transportLookMs, async () => {
        const gone = routes.take();
        if (gone.has(antreaRouteProtocol)) lookAtWays();
        if (gone.has(podRouteProtocol)) ovs.trigger();
        await transport.look();
        const tooSmall = mtuProblemOf(base, parts.node, transport);
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
        lookAtWays();
        announcing.trigger();
        ovs.trigger();
    });
    // Then the earlier flows to Services may go.
    if (bridging !== undefined) ipPools?.book.onServiceCidrs(lookAtWays);
    // The gateway may have come anew, and routes by it with it.
    openflow.onReady(lookAtWays);
    onNodeChange(nodeInformer, (name) => {
        ways.trigger();
        if (name === environment.nodeName) announcing.trigger();
    });
}

function onNodeChange(nodes: Informer<Node>, listener: (name: string) => void): void {
    nodes.onChange((type, key, object, old) => {
        if (changesRoutes(type, object, old)) listener(key);
    });
}
