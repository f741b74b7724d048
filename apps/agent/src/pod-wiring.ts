import { randomInt } from "node:crypto";
import { systemClock } from "@antrea/async";
import { AntreaError, isErrorOf } from "@antrea/errors";
import { OfPort, pipelineFlows } from "@antrea/flows";
import type { Prefix } from "@antrea/ip";
import { podsOf, unwiredEvent } from "./cluster.ts";
import type { Base } from "./compose.ts";
import { checkTunnelType, refusedTunnelPort } from "./datapath/index.ts";
import { Gateway, NodeSysctls } from "./gateway/index.ts";
import { OwnSubnet, type NodeConfig } from "./node-config/index.ts";
import { OvsBridgeError } from "./ovs-bridge/index.ts";
import { antreaRouteProtocol, RouteWatch } from "./peers/index.ts";
import {
    HostRoutes,
    isRoutedToPod,
    NodeSubnet,
    PodNetwork,
    podRouteProtocol,
    PodReconciler,
} from "./pod-network/index.ts";
import { recordClaims } from "./pool-wiring.ts";
import { mtuProblem, podMtu, Transport } from "./transport/index.ts";
import { removeTunnelPorts, TunnelPort } from "./tunnel/index.ts";
import { buildPeers } from "./ways-wiring.ts";

/** The start waits for what others bring (OVS, the API server, a podCIDR); the log says what for. */
export const patientMs = 24 * 3_600_000;

export type PodWiring = Awaited<ReturnType<typeof buildPodNetwork>>;

/** Bridge and gateway, and the Pod network with the records of what is wired already. */
export async function buildPodNetwork(base: Base, node: NodeConfig, signal: AbortSignal) {
    const { config, environment, bridge, netlink, flowTable, kube, events, logger, probe } = base;
    const { podPrefixes, gatewayIps } = node;
    const disableTxChecksumOffload = config.disableTXChecksumOffload || base.datapath.mustComputeChecksums;
    const transport = await Transport.of({ netlink, logger: logger.child("transport") }, node.transport);
    const tooSmall = mtuProblemOf(base, node, transport);
    if (tooSmall !== undefined) throw new MtuError("MTU_TOO_SMALL", "caller", tooSmall);
    const mtu = (): number => podMtu({ config, transportMtu: transport.state.mtu, underlay: transport.underlay });
    const { stateFolder, bootId, nodeName } = environment;
    const sysctls = new NodeSysctls({ logger: logger.child("gateway") }, { folder: stateFolder, bootId });
    const gateway = new Gateway(
        { ports: bridge, netlink, sysctls, logger: logger.child("gateway") },
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
    if (base.bridging !== undefined) {
        base.bridging.use(node.transport);
        await bridge.fixDatapathId(base.bridging.mac, signal);
    }
    await probe.passed(signal);
    await bridge.datapathId(patientMs, signal);
    await gateway.ensurePort(signal);
    await gateway.ensureDevice(signal);
    const subnet = new NodeSubnet(
        podPrefixes,
        (size) => BigInt(randomInt(Number(size))),
        (ip) => (base.ipPools === undefined ? false : base.ipPools.isClaimed(ip)),
    );
    const ownSubnet = new OwnSubnet(
        { api: kube.api, nodes: base.nodeInformer, clock: systemClock, fail: base.fail, logger },
        node,
    );
    base.health.addCheck("subnet", "ready", () => ownSubnet.problem);
    const bridged = base.bridging !== undefined;
    const hostRoutes = new HostRoutes({ netlink }, { gatewayName: config.hostGateway, bridged });
    const podNetwork = new PodNetwork(
        {
            ports: bridge,
            flowTable,
            netlink,
            subnet,
            hostRoutes,
            pools: base.ipPools,
            confirmSubnet: () => ownSubnet.confirm(),
            bridging: base.bridging?.pods,
            logger: logger.child("pod-network"),
        },
        {
            get mtu() {
                return mtu();
            },
            disableTxChecksumOffload,
            gatewayMac: () => gateway.mac,
            bootId,
            now: () => performance.now(),
        },
    );
    const reconciler = new PodReconciler(
        {
            network: podNetwork,
            netlink,
            subnet,
            hostRoutes,
            ports: bridge,
            logger: logger.child("reconcile"),
            poolOf: (ip) => base.ipPools?.poolOf(ip),
            claims: base.ipPools && recordClaims(base.ipPools),
            pods: (limit) => podsOf(kube.api, nodeName, limit),
            reportUnwired: (unwired) => events.record(unwiredEvent(unwired)),
        },
        { bootId, podPrefixes },
    );
    await reconciler.rebuild(signal);
    const tunnel = buildTunnel(base);
    const pipeline = async (limit: AbortSignal) =>
        pipelineFlows({
            families: podPrefixes.map((prefix) => prefix.family),
            gateway: { ofPort: await gateway.ensurePort(limit), mac: gateway.mac, ips: gatewayIps },
            podPrefixes,
            forgetsConnections: base.datapath.forgetsConnections,
            tunnel: await tunnel(limit),
            bridging: base.bridging?.pipelinePart(transport.state.addresses, serviceCidrs(base)),
        });
    const peers = buildPeers(base, { podPrefixes, transport, gatewayMac: () => gateway.mac });
    const routes = new RouteWatch(
        { netlink },
        {
            protocols: [antreaRouteProtocol, podRouteProtocol],
            linkName: config.hostGateway,
            // Each DEL of a Pod deletes its route, and must not make the agent look at all Pods.
            isWanted: ({ protocol, dst }) => protocol !== podRouteProtocol || isRoutedToPod(podNetwork, dst),
        },
    );
    return { podPrefixes, gateway, subnet, podNetwork, reconciler, pipeline, transport, peers, routes };
}

class MtuError extends AntreaError<"MTU_TOO_SMALL"> {}

/** Why the Pods of this Node cannot have their MTU, as the transport interface is now. */
export function mtuProblemOf(
    { config }: Pick<Base, "config">,
    { podPrefixes }: Pick<NodeConfig, "podPrefixes">,
    { state, underlay }: Pick<Transport, "state" | "underlay">,
): string | undefined {
    const families = podPrefixes.map(({ family }) => family);
    return mtuProblem({ config, families, underlay, transportMtu: state.mtu, transportName: state.name });
}

/** The ranges of Services by what the API server says, else by the configuration. */
function serviceCidrs({ ipPools, config }: Base): readonly Prefix[] {
    const known = ipPools?.book.serviceCidrs ?? [];
    if (known.length > 0) return known;
    return [config.serviceCIDR, config.serviceCIDRv6].filter((prefix) => prefix !== undefined);
}

/** Puts the tunnel port in place, or removes one that a start in another mode left. */
function buildTunnel(base: Base): (limit: AbortSignal) => Promise<{ readonly ofPort: number } | undefined> {
    const { config, mode, bridge, database, datapath } = base;
    const { tunnelType } = config;
    if (mode === "noEncap") {
        return async (limit) => {
            await removeTunnelPorts(bridge, limit);
            return undefined;
        };
    }
    const port = new TunnelPort(
        { ports: bridge },
        { ofPort: OfPort.tunnel, type: tunnelType, destinationPort: config.tunnelPort, csum: config.tunnelCsum },
    );
    return async (limit) => {
        await checkTunnelType(database, { datapath, tunnelType }, { timeoutMs: patientMs, signal: limit });
        try {
            return { ofPort: await port.ensure(limit) };
        } catch (error) {
            if (!isErrorOf(OvsBridgeError, error, "PORT_REFUSED")) throw error;
            throw refusedTunnelPort(datapath, tunnelType, error);
        }
    };
}
