import { AntreaError } from "@antrea/errors";
import { nodeParts, nodeTables, OfPort, type BridgingInput, type PipelineInput } from "@antrea/flows";
import { parseMac, type Prefix } from "@antrea/ip";
import { servesServices } from "@antrea/settings";
import { Gateway, NodeSysctls } from "./host/gateway/index.ts";
import { nodeMtuProblem, podMtu, Transport } from "./host/transport/index.ts";
import type { NodeConfig } from "./node/config/index.ts";
import { FlowStart } from "./ovs/flow-start.ts";
import { AgentPipeline } from "./ovs/pipeline.ts";
import { patientMs, type Platform } from "./platform.ts";

/** The Service CIDRs of the cluster, from the watch of its ServiceCIDR objects (networking.k8s.io/v1). */
export interface ServiceCidrs {
    /** Undefined until the first list is complete; empty if the cluster has none. */
    readonly serviceCidrs: readonly Prefix[] | undefined;
    /**
     * Registers a listener, for the lifetime of the watch, for possible changes of them, including their first sync.
     */
    onServiceCidrs(listener: () => void): unknown;
}

/**
 * What features share once the podCIDRs of the Node are known, as `withNode` builds it: bridge, gateway and transport
 * interface exist. `stopFeatures` disposes of `transport`.
 */
export interface NodePlatform extends Platform {
    readonly node: NodeConfig;
    readonly transport: Transport;
    readonly gateway: Gateway;
    /** The tables and flows of all features; usable when `startFeatures` has registered them. */
    readonly pipeline: AgentPipeline;
    /**
     * The input of a feature's flows, with the current ports and addresses of the Node; called each time flows are
     * built.
     */
    readonly pipelineInput: () => PipelineInput;
    /** Replaces the flows of earlier starts; `startFeatures` calls it, and node-routes deletes the last of them. */
    readonly flowStart: FlowStart;
    /** The current MTU of Pods, in bytes. */
    readonly podMtu: () => number;
    /** Whether the kernel must compute the checksums of frames of the gateway and of Pods before they enter OVS. */
    readonly disableTxChecksumOffload: boolean;
    /**
     * In bridging mode: the MAC address of the Node's interface (`aa:bb:…`), from which the bridge derives its datapath
     * ID; else undefined.
     */
    readonly bridgedMac: string | undefined;
    /**
     * Undefined outside of bridging mode, and if nothing watches them: flows then use the CIDRs of the configuration.
     */
    readonly services: ServiceCidrs | undefined;
    /** The watch of the Service CIDRs; undefined if the agent has none. */
    readonly serviceCidrWatch: ServiceCidrs | undefined;
    /**
     * Whether OVS serves Services to the Pods of this Node, as the feature gate AntreaProxy and `antreaProxy.enable` want
     * it.
     */
    readonly servesServices: boolean;
    /** Whether it serves them to the Node itself and to clients outside too (`antreaProxy.proxyAll`). */
    readonly servesNode: boolean;
    /** Sets sysctls of the Node, and knows what they were before. */
    readonly sysctls: Pick<NodeSysctls, "held" | "set" | "undo">;
    /** The current Service CIDRs, from the API server or else from the configuration. */
    readonly serviceCidrs: () => readonly Prefix[];
}

/**
 * Adds what depends on the Node to the platform: waits for OVS, without a limit, and creates the bridge, the gateway
 * and the watch of the transport interface, which the caller disposes of (`transport`). Rejects with MtuError
 * `MTU_TOO_SMALL`, in bridging mode with BridgingError `NO_MAC`, and with errors of OVSDB, netlink and the gateway, or
 * if the signal aborts; the watch has ended then.
 *
 * @param services undefined if nothing watches the Service CIDRs
 */
export async function withNode(
    platform: Platform,
    { node, services }: { readonly node: NodeConfig; readonly services: ServiceCidrs | undefined },
    signal: AbortSignal,
): Promise<NodePlatform> {
    const { bridge, config, datapath, netlink, logger, probe } = platform;
    const disableTxChecksumOffload = config.disableTXChecksumOffload || datapath.mustComputeChecksums;
    using cleanUp = new DisposableStack();
    const transport = cleanUp.use(await Transport.of({ netlink, logger: logger.child("transport") }, node.transport));
    const tooSmall = nodeMtuProblem(config, node, transport);
    if (tooSmall !== undefined) throw new MtuError("MTU_TOO_SMALL", "caller", tooSmall);
    const mtu = (): number =>
        podMtu({ config, transportMtu: transport.state.mtu, tunnelFamily: transport.tunnelFamily });
    const { stateFolder: folder, bootId } = platform.environment;
    const { settings } = platform.host;
    const sysctls = new NodeSysctls({ logger: logger.child("sysctls"), settings }, { folder, bootId });
    const gateway = gatewayOf(platform, node, { mtu, disableTxChecksumOffload, sysctls });
    await bridge.ensure(signal);
    const bridgedMac = config.enableBridgingMode ? bridgedMacOf(node) : undefined;
    if (bridgedMac !== undefined) await bridge.fixDatapathId(bridgedMac, signal);
    await probe.passed(signal);
    await bridge.datapathId(patientMs, signal);
    await gateway.ensurePort(signal);
    await gateway.ensureDevice(signal);
    const bridging = (mac: string): BridgingInput => ({
        uplink: { ofPort: OfPort.uplink },
        host: { ofPort: OfPort.host, mac: parseMac(mac), ips: transport.state.addresses },
        serviceCidrs: currentServiceCidrs(platform, services),
    });
    const isServing = servesServices(platform);
    const servesNode = servesNodePorts(platform);
    const tunnel = platform.mode === "noEncap" ? undefined : { ofPort: OfPort.tunnel };
    let gatewayPort: number = OfPort.gateway;
    const pipelineInput = (): PipelineInput => ({
        families: node.podPrefixes.map((prefix) => prefix.family),
        gateway: { ofPort: gatewayPort, mac: gateway.mac, ips: node.gatewayIps },
        podPrefixes: node.podPrefixes,
        forgetsConnections: datapath.forgetsConnections,
        bridging: bridgedMac === undefined ? undefined : bridging(bridgedMac),
        services: isServing ? { proxyAll: servesNode, tunnel, keepsFragments: datapath.keepsFragments } : undefined,
    });
    const pipeline = new AgentPipeline({
        tables: nodeTables,
        parts: async (limit) => {
            // First: the flows of all features refer to the gateway port.
            gatewayPort = await gateway.ensurePort(limit);
            return nodeParts(pipelineInput());
        },
    });
    cleanUp.move();
    return {
        ...platform,
        node,
        transport,
        gateway,
        pipeline,
        pipelineInput,
        flowStart: new FlowStart({ ...platform, pipeline }),
        podMtu: mtu,
        disableTxChecksumOffload,
        bridgedMac,
        services: config.enableBridgingMode ? services : undefined,
        serviceCidrWatch: services,
        servesServices: isServing,
        servesNode,
        sysctls,
        serviceCidrs: () => currentServiceCidrs(platform, services),
    };
}

/** Whether the agent serves Services also to the Node and from outside, instead of kube-proxy. */
export function servesNodePorts(platform: Pick<Platform, "config" | "gates">): boolean {
    return servesServices(platform) && platform.config.antreaProxy.proxyAll;
}

class MtuError extends AntreaError<"MTU_TOO_SMALL"> {}

class BridgingError extends AntreaError<"NO_MAC"> {}

/** The MAC address of the NIC, or of the host port that replaced it. */
function bridgedMacOf({ transport: { name, mac } }: NodeConfig): string {
    if (mac !== undefined) return mac;
    throw new BridgingError(
        "NO_MAC",
        "environment",
        `enableBridgingMode: the transport interface ${name} has no MAC address, so it cannot be bridged`,
    );
}

function gatewayOf(
    { bridge, clock, config, host: { settings }, logger: parent, netlink }: Platform,
    { podPrefixes, gatewayIps, transport }: NodeConfig,
    {
        sysctls,
        ...options
    }: {
        readonly mtu: () => number;
        readonly disableTxChecksumOffload: boolean;
        readonly sysctls: NodeSysctls;
    },
): Gateway {
    const logger = parent.child("gateway");
    return new Gateway(
        { ports: bridge, netlink, sysctls, settings, clock, logger },
        {
            ...options,
            name: config.hostGateway,
            ofPort: OfPort.gateway,
            podPrefixes,
            gatewayIps,
            transportName: transport.name,
        },
    );
}

/** The Service CIDRs from the API server, else from the configuration. */
function currentServiceCidrs({ config }: Platform, services: ServiceCidrs | undefined): readonly Prefix[] {
    const known = services?.serviceCidrs ?? [];
    if (known.length > 0) return known;
    return [config.serviceCIDR, config.serviceCIDRv6].filter((prefix) => prefix !== undefined);
}
