import { Lifecycle, type LifecyclePart, type MainContext } from "@antrea/runtime";
import { bridging } from "./features/bridging/feature.ts";
import { buildUplink, uplinkParts } from "./features/bridging/uplink-parts.ts";
import type { Uplink } from "./platform/host/uplink/index.ts";
import { Conflist } from "./features/cni-server/conflist/index.ts";
import { cniServer, type CniFeature, type CniNodeParts } from "./features/cni-server/feature.ts";
import { CniServer } from "./features/cni-server/index.ts";
import { leavesForGoodMs } from "./features/cni-server/leaves-for-good.ts";
import { delegatedIpam } from "./features/delegated-ipam/feature.ts";
import { delegatedErrorCode } from "./features/delegated-ipam/index.ts";
import { hostServices } from "./features/host-services/feature.ts";
import { guardHost, hostFilter } from "./features/host-filter/feature.ts";
import { buildIpPools, guardSubnets, ipPools } from "./features/ip-pools/feature.ts";
import {
    allocationProblem,
    delegatedPools,
    hasContainer,
    isOwnInterface,
    networkAllocations,
    poolErrorCode,
    recordAllocations,
    type IpPools,
} from "./features/ip-pools/index.ts";
import { masquerade } from "./features/masquerade/feature.ts";
import { podNetworks, type NetworkNodeParts } from "./features/networks/feature.ts";
import { networksErrorCode, nodeCniFiles } from "./features/networks/index.ts";
import { nodeRoutes } from "./features/node-routes/feature.ts";
import { allPodPrefixes } from "./features/node-routes/index.ts";
import { podNetwork, type PodNodeParts } from "./features/pod-network/feature.ts";
import { checkInterface, checkNetworkInterface, wiringErrorCode } from "./features/pod-network/index.ts";
import { serviceHealth, servesHealth } from "./features/service-health/feature.ts";
import { services } from "./features/services/feature.ts";
import { secondaryBridge } from "./features/secondary-bridge/feature.ts";
import { buildNicUplinks, nicUplinkParts, type NicUplinkOf } from "./features/secondary-bridge/nic-uplink-parts.ts";
import type { NicUplinks } from "./features/secondary-bridge/nic-uplinks.ts";
import { secondaryNetworks } from "./features/secondary-networks/feature.ts";
import { virtualFunctions } from "./features/virtual-functions/feature.ts";
import { functionErrorCode } from "./features/virtual-functions/index.ts";
import { NetworkInterfaces, type Attachment } from "./platform/pod-interfaces/index.ts";
import { startFeatures, stopFeatures, type Feature } from "./platform/feature.ts";
import { ownNode } from "./platform/node/own-node.ts";
import { servesNodePorts, withNode, type NodePlatform, type ServiceCidrs } from "./platform/node-platform.ts";
import { announceEnd } from "./platform/ovs/end-notice.ts";
import { kubePart, ovsdbPart, ovsdbSessionPart } from "./platform/parts.ts";
import { buildPlatform, patientMs, type Platform } from "./platform/platform.ts";
import { serviceCidrWatch } from "./platform/service-cidr-watch.ts";

const bridgedSyncLimitMs = 1_000;

/** All features in start order, by the names of their folders; `node` of the platform stores the Node for the next start. */
const startOrder = [
    "cni-server",
    // Before the Pods, whose interfaces are restored on it.
    "secondary-bridge",
    "pod-network",
    // Before the Services, which it leads packets to.
    "host-services",
    "services",
    "service-health",
    "node-routes",
    "masquerade",
    "node",
    "host-filter",
    "bridging",
    "virtual-functions",
    "networks",
    "secondary-networks",
    "ip-pools",
    "delegated-ipam",
] as const;

type FeatureName = (typeof startOrder)[number];

/**
 * The parts of features that a simulated Node replaces or has to access, since most of them use files, sockets and
 * namespaces of the Node. Functions that build a part start nothing.
 */
export interface NodeParts extends CniNodeParts, NetworkNodeParts, PodNodeParts {
    /** Builds the IPPools of the Node; undefined if they are disabled. */
    readonly ipPools: typeof buildIpPools;
    /** Builds what moves the Node's NIC into OVS and back, in bridging mode. */
    readonly uplink: (
        platform: Platform,
        isOthers: (nic: string) => boolean,
    ) => Pick<Uplink, "state" | "recover" | "connect" | "check" | "restore">;
    /** Builds the same for a NIC of the bridge for networks. Default: that of the Node. */
    readonly nicUplink?: NicUplinkOf;
}

/** The parts for the Node on which the agent runs. */
const ownParts: NodeParts = {
    ipPools: buildIpPools,
    uplink: buildUplink,
    conflist: (options) => new Conflist(options),
    cniServer: (calls, options) => new CniServer({ calls }, options),
    checkInterface,
    checkNetworkInterface,
    cniFiles: nodeCniFiles,
};

/**
 * Builds the agent from its configuration; the caller starts and stops the Lifecycle. Throws as `buildPlatform` does.
 */
export function compose(context: MainContext): Lifecycle {
    const platform = buildPlatform(context);
    announceEnd(platform, context.signal);
    return composeAgent(platform);
}

/**
 * Adds the features of the agent to the platform, in the order in which they start, and returns the Lifecycle of all
 * parts; starts nothing. Called once for a platform, whose jobs, metrics and health checks it extends.
 *
 * @param parts default: those of the Node on which the agent runs
 */
export function composeAgent(platform: Platform, parts: NodeParts = ownParts): Lifecycle {
    const { clock, health, jobs, logger, openflow, readiness } = platform;
    const pools = parts.ipPools(platform);
    const ownCidrs = pools === undefined ? serviceCidrWatch(platform) : undefined;
    const cidrs = pools?.cache ?? ownCidrs;
    const isBridged = (nic: string): boolean => uplink.state.kind === "found" && uplink.state.name === nic;
    const nics = buildNicUplinks(platform, isBridged, parts.nicUplink);
    const uplink = parts.uplink(platform, (nic) => nics.isKnown(nic));
    const { end, recovery, move } = uplinkParts(platform, uplink);
    const nicParts = nicUplinkParts(platform, nics);
    const cni = cniServer(platform, parts, [
        poolErrorCode,
        delegatedErrorCode,
        networksErrorCode,
        functionErrorCode,
        wiringErrorCode,
    ]);
    const names = featureNames(platform, pools);
    // Known once the Node has podCIDRs.
    let started: NodeFeatures | undefined;

    const start = async (signal: AbortSignal): Promise<void> => {
        // A bridged Node cannot reach the API server before this agent's flows are in OVS.
        const syncLimitMs = uplink.state.kind === "found" || nics.isFound ? bridgedSyncLimitMs : undefined;
        const { node, remember } = await ownNode(platform, { deletion: pools, syncLimitMs }, signal);
        await guardHost(platform);
        const onNode = await withNode(platform, { node, services: cidrs }, signal);
        const features = featuresOf(onNode, { cidrs, cni, names, nics, parts, pools, remember });
        await startFeatures(onNode, features.inOrder, signal);
        started = features;
    };
    const lifecycleParts: readonly LifecyclePart[] = [
        ovsdbSessionPart(platform),
        end,
        recovery,
        nicParts.end,
        nicParts.recovery,
        { name: "health", start: (signal) => health.start(signal), stop: () => health.stop() },
        kubePart(platform, [pools, ownCidrs]),
        ovsdbPart(platform),
        // After the lock: a second agent on the Node must not take over the socket of the first.
        cni.part,
        {
            name: "features",
            includes: names,
            startTimeoutMs: patientMs,
            start,
            stopTimeoutMs: leavesForGoodMs,
            stop: async (o) => {
                if (started === undefined) return;
                await stopFeatures({ transport: started.transport, openflow, logger }, started.inOrder, o);
            },
        },
        move(() => started),
        nicParts.move,
        { name: "jobs", start: (signal) => jobs.start(signal), stop: () => jobs.stop() },
        // Running Pods have traffic; new ones wait until all addresses in use are known.
        {
            name: "known-addresses",
            startTimeoutMs: patientMs,
            start: async (signal) => {
                await started?.holdKnownAddresses(signal);
                readiness.met("records");
            },
        },
    ];
    const lifecycle = new Lifecycle({ logger, clock });
    for (const part of lifecycleParts) lifecycle.append(part);
    return lifecycle;
}

/** The features that these settings have, in start order. */
function featureNames(platform: Platform, pools: IpPools | undefined): readonly FeatureName[] {
    const { config, gates } = platform;
    const hasNetworks = gates.enabled("SecondaryNetwork");
    // All others are independent of the settings.
    const conditions: Partial<Record<FeatureName, boolean>> = {
        "service-health": servesHealth(config, servesNodePorts(platform)),
        networks: hasNetworks,
        "secondary-networks": !hasNetworks,
        "delegated-ipam": pools !== undefined,
    };
    return startOrder.filter((name) => conditions[name] ?? true);
}

/** The features of a Node whose podCIDRs are known. */
interface NodeFeatures extends Pick<NodePlatform, "transport"> {
    readonly inOrder: readonly Feature[];
    readonly announcePods: () => void;
    readonly holdKnownAddresses: (signal: AbortSignal) => Promise<void>;
}

function featuresOf(
    platform: NodePlatform,
    o: {
        readonly cidrs: ServiceCidrs | undefined;
        readonly cni: CniFeature;
        readonly names: readonly FeatureName[];
        readonly nics: NicUplinks;
        readonly parts: NetworkNodeParts & PodNodeParts;
        readonly pools: IpPools | undefined;
        readonly remember: Feature;
    },
): NodeFeatures {
    const { pools } = o;
    const bridged = bridging(platform);
    const secondary = secondaryBridge(platform, o.nics);
    const networks = new NetworkInterfaces();
    const containers = {
        hasContainer: (id: string) => hasContainer(platform.podInterfaces, id),
        isOwn: (attachment: Attachment) =>
            isOwnInterface(platform.podInterfaces, attachment) || networks.get(attachment) !== undefined,
    };
    const delegated = pools && delegatedPools(pools, containers);
    const addresses = delegated && delegatedIpam(platform, { ...delegated, ...containers, pools: delegated });
    // Also without the gate: it may have been on when a Pod got one, which comes back at its end.
    const functions = virtualFunctions(platform, networks);
    const requested = o.names.includes("networks")
        ? podNetworks(
              platform,
              {
                  bridge: secondary.served?.state,
                  findDevices: (pod, demands, signal) => functions.devices.find(pod, demands, signal),
                  interfaces: networks,
                  pools: delegated,
                  pods: pools?.pods.informer,
              },
              o.parts,
          )
        : undefined;
    const host = hostServices(platform, o.cidrs);
    const served = services(platform, host.stack, host.cidrs);
    const pods = podNetwork(
        platform,
        {
            pools,
            allocations: pools && recordAllocations(pools),
            allocationProblem: (record) => allocationProblem(pools, record),
            bridging: bridged.pods,
            networks: requested && {
                table: networks,
                ports: secondary.served?.ports,
                functionLinks: functions.links,
                announce: (port) => secondary.served?.announce(port),
                claims: pools && networkAllocations(pools),
                plan: (request, signal) => requested.networks.plan(request, signal),
                hashOf: (request) => requested.networks.hashOf(request),
                planCall: (call, signal) => requested.networks.planCall(call, signal),
                report: (wired) => requested.report(wired),
                failed: (request, error) =>
                    // Failures of claims are events of the IPPools.
                    requested.networks.failed(request, error, { hasEvent: poolErrorCode(error) !== undefined }),
            },
        },
        o.parts,
    );
    const features: Readonly<Record<FeatureName, Feature | undefined>> = {
        "cni-server": o.cni.serve({
            network: pods.network,
            check: pods.check,
            addresses: addresses?.ipam,
            networks: pods.networks,
            onServices: platform.servesNode ? (listener) => served.onComplete(listener) : undefined,
        }),
        "secondary-bridge": secondary,
        "pod-network": pods,
        "host-services": host,
        services: served,
        "service-health": serviceHealth(platform, served),
        "node-routes": nodeRoutes(platform, pods, served),
        masquerade: masquerade(platform, {
            clusterPrefixes: () => allPodPrefixes(platform.nodes.list()),
            bridging: bridged.sources,
        }),
        node: o.remember,
        "host-filter": hostFilter(platform),
        bridging: bridged,
        "virtual-functions": functions,
        networks: requested,
        "secondary-networks": requested === undefined ? secondaryNetworks(platform) : undefined,
        "ip-pools": ipPools({ ...platform, networks }, pools, pods.network),
        "delegated-ipam": addresses,
    };
    return {
        transport: platform.transport,
        announcePods: () => bridged.pods?.announceAll(),
        holdKnownAddresses: async (signal) => {
            await pods.holdKnownAddresses(signal);
            await guardSubnets(platform, pools, pods.subnet, signal);
        },
        inOrder: o.names.flatMap((name) => features[name] ?? []),
    };
}
