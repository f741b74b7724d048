import { AntreaError } from "@antrea/errors";
import { nodeParts, nodeTables, OfPort, type PipelineInput } from "@antrea/flows";
import type { Prefix } from "@antrea/ip";
import type { Bridging } from "../features/bridging/bridging.ts";
import { recordClaims, type IpPools } from "../features/ip-pools/index.ts";
import { buildPeers, tunnelPipeline } from "../features/node-routes/feature.ts";
import { RouteWatch } from "../features/node-routes/index.ts";
import { podsOf, unwiredEvent } from "../features/pod-network/node-pods.ts";
import {
    HostRoutes,
    isRoutedToPod,
    NodeSubnet,
    PodNetwork,
    PodReconciler,
    type PodNamespaces,
} from "../features/pod-network/index.ts";
import { Gateway, NodeSysctls } from "../platform/host/gateway/index.ts";
import { nodeMtuProblem, podMtu, Transport } from "../platform/host/transport/index.ts";
import { antreaRouteProtocol, podRouteProtocol } from "../platform/kernel-ids.ts";
import { OwnSubnet, type NodeConfig } from "../platform/node/config/index.ts";
import type { AgentPipeline, FeaturePipeline } from "../platform/ovs/pipeline.ts";
import type { Platform } from "../platform/platform.ts";

/** Startup waits for dependencies (OVS, the API server, a podCIDR); the log reports for which. */
export const patientMs = 24 * 3_600_000;

/** The Pod network and its parts. */
export type PodWiring = Awaited<ReturnType<typeof buildPodNetwork>>;

/**
 * Builds bridge, gateway and the Pod network with the records of the interfaces that are wired already. Rejects with
 * MtuError `MTU_TOO_SMALL`.
 */
export async function buildPodNetwork(
    platform: Platform,
    {
        bridging,
        ipPools,
        pipeline,
        namespaces,
    }: {
        readonly bridging: Bridging | undefined;
        readonly ipPools: IpPools | undefined;
        readonly pipeline: AgentPipeline;
        readonly namespaces: PodNamespaces | undefined;
    },
    node: NodeConfig,
    signal: AbortSignal,
) {
    const { clock, config, datapath, environment, bridge, netlink, flowTable, host, kube, events, logger, probe } =
        platform;
    const { podPrefixes, gatewayIps } = node;
    const disableTxChecksumOffload = config.disableTXChecksumOffload || datapath.mustComputeChecksums;
    const transport = await Transport.of({ netlink, logger: logger.child("transport") }, node.transport);
    const tooSmall = nodeMtuProblem(config, node, transport);
    if (tooSmall !== undefined) throw new MtuError("MTU_TOO_SMALL", "caller", tooSmall);
    const mtu = (): number => podMtu({ config, transportMtu: transport.state.mtu, underlay: transport.underlay });
    const { stateFolder, bootId, nodeName } = environment;
    const sysctls = new NodeSysctls(
        { logger: logger.child("gateway"), settings: host.settings },
        { folder: stateFolder, bootId },
    );
    const gateway = new Gateway(
        { ports: bridge, netlink, sysctls, settings: host.settings, clock, logger: logger.child("gateway") },
        {
            name: config.hostGateway,
            ofPort: OfPort.gateway,
            mtu,
            podPrefixes,
            gatewayIps,
            disableTxChecksumOffload,
            transportName: node.transport.name,
        },
    );
    await bridge.ensure(signal);
    if (bridging !== undefined) {
        bridging.use(node.transport);
        await bridge.fixDatapathId(bridging.mac, signal);
    }
    await probe.passed(signal);
    await bridge.datapathId(patientMs, signal);
    await gateway.ensurePort(signal);
    await gateway.ensureDevice(signal);
    // The features contribute in this order: the gateway port exists when the others refer to it.
    let gatewayPort: number = OfPort.gateway;
    const input = (): PipelineInput => ({
        families: podPrefixes.map((prefix) => prefix.family),
        gateway: { ofPort: gatewayPort, mac: gateway.mac, ips: gatewayIps },
        podPrefixes,
        forgetsConnections: datapath.forgetsConnections,
        bridging: bridging?.input(transport.state.addresses, serviceCidrs(platform, ipPools)),
    });
    const base: FeaturePipeline = {
        tables: nodeTables,
        parts: async (limit) => {
            gatewayPort = await gateway.ensurePort(limit);
            return nodeParts(input());
        },
    };
    const tunnel = tunnelPipeline(platform, input, patientMs);
    pipeline.use([base, tunnel, ...(bridging === undefined ? [] : [bridging.pipeline(input)])]);
    const subnet = new NodeSubnet(
        podPrefixes,
        (size) => BigInt(Math.floor(platform.random() * Number(size))),
        (ip) => (ipPools === undefined ? false : ipPools.isClaimed(ip)),
    );
    const ownSubnet = new OwnSubnet({ api: kube.api, nodes: platform.nodes, clock, fail: platform.fail, logger }, node);
    platform.health.addCheck("subnet", "ready", () => ownSubnet.problem);
    const hostRoutes = new HostRoutes(
        { netlink, logger: logger.child("host-routes"), metrics: platform.metrics, clock: platform.clock },
        { gatewayName: config.hostGateway, bridged: bridging !== undefined },
    );
    const podNetwork = new PodNetwork(
        {
            podInterfaces: platform.podInterfaces,
            ports: bridge,
            flowTable,
            next: pipeline,
            netlink,
            subnet,
            hostRoutes,
            pools: ipPools,
            confirmSubnet: () => ownSubnet.confirm(),
            bridging: bridging?.pods,
            clock,
            logger: logger.child("pod-network"),
        },
        {
            get mtu() {
                return mtu();
            },
            disableTxChecksumOffload,
            gatewayMac: () => gateway.mac,
            bootId,
            now: () => clock.monotonic(),
            namespaces,
        },
    );
    const reconciler = new PodReconciler(
        {
            network: podNetwork,
            netlink,
            subnet,
            hostRoutes,
            ports: bridge,
            clock,
            logger: logger.child("pod-network"),
            poolOf: (ip) => ipPools?.poolOf(ip),
            claims: ipPools && recordClaims(ipPools),
            pods: (limit) => podsOf(kube.api, nodeName, limit),
            reportUnwired: (unwired) => events.record(unwiredEvent(unwired)),
        },
        { bootId, podPrefixes },
    );
    await reconciler.rebuild(signal);
    const peers = buildPeers(platform, { podPrefixes, transport, next: pipeline, gatewayMac: () => gateway.mac });
    const routes = new RouteWatch(
        { netlink },
        {
            protocols: [antreaRouteProtocol, podRouteProtocol],
            linkName: config.hostGateway,
            // Each DEL of a Pod deletes its route, which must not trigger a check of all Pods.
            isWanted: ({ protocol, dst }) =>
                protocol !== podRouteProtocol || isRoutedToPod(platform.podInterfaces, dst),
        },
    );
    return {
        podPrefixes,
        gateway,
        subnet,
        podNetwork,
        reconciler,
        pipeline: (limit: AbortSignal) => pipeline.flows(limit),
        transport,
        peers,
        routes,
    };
}

class MtuError extends AntreaError<"MTU_TOO_SMALL"> {}

/** The Service CIDRs from the API server, else from the configuration. */
function serviceCidrs({ config }: Platform, ipPools: IpPools | undefined): readonly Prefix[] {
    const known = ipPools?.book.serviceCidrs ?? [];
    if (known.length > 0) return known;
    return [config.serviceCIDR, config.serviceCIDRv6].filter((prefix) => prefix !== undefined);
}
