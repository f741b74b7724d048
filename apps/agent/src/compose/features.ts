import { bridging } from "../features/bridging/feature.ts";
import type { CniFeature } from "../features/cni-server/feature.ts";
import { delegatedIpam } from "../features/delegated-ipam/feature.ts";
import { hostServices } from "../features/host-services/feature.ts";
import { hostFilter } from "../features/host-filter/feature.ts";
import { ipPools } from "../features/ip-pools/feature.ts";
import {
    allocationProblem,
    delegatedPools,
    hasContainer,
    isOwnInterface,
    networkAllocations,
    poolErrorCode,
    recordAllocations,
    type IpPools,
} from "../features/ip-pools/index.ts";
import { guardSubnets } from "../features/ip-pools/pool-parts.ts";
import { masquerade } from "../features/masquerade/feature.ts";
import { podNetworks, type NetworkNodeParts } from "../features/networks/feature.ts";
import { nodeRoutes } from "../features/node-routes/feature.ts";
import { allPodPrefixes } from "../features/node-routes/index.ts";
import { podNetwork, type PodNodeParts } from "../features/pod-network/feature.ts";
import { serviceHealth } from "../features/service-health/feature.ts";
import { services } from "../features/services/feature.ts";
import { secondaryBridge } from "../features/secondary-bridge/feature.ts";
import type { NicUplinks } from "../features/secondary-bridge/nic-uplink-parts.ts";
import { secondaryNetworks } from "../features/secondary-networks/feature.ts";
import { virtualFunctions } from "../features/virtual-functions/feature.ts";
import { NetworkInterfaces, type Attachment } from "../platform/pod-interfaces/index.ts";
import type { Feature } from "../platform/feature.ts";
import { servesNodePorts, type NodePlatform, type ServiceCidrs } from "../platform/node-platform.ts";
import type { Platform } from "../platform/platform.ts";

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

/** The features that these settings have, in start order. */
export function featureNames(platform: Platform, pools: IpPools | undefined): readonly FeatureName[] {
    const { config, gates } = platform;
    const hasNetworks = gates.enabled("SecondaryNetwork");
    // All others are independent of the settings.
    const conditions: Partial<Record<FeatureName, boolean>> = {
        "service-health": servesNodePorts(platform) && !config.antreaProxy.disableServiceHealthCheckServer,
        networks: hasNetworks,
        "secondary-networks": !hasNetworks,
        "delegated-ipam": pools !== undefined,
    };
    return startOrder.filter((name) => conditions[name] ?? true);
}

/** The features of a Node whose podCIDRs are known. */
export interface NodeFeatures extends Pick<NodePlatform, "transport"> {
    readonly inOrder: readonly Feature[];
    readonly announcePods: () => void;
    readonly holdKnownAddresses: (signal: AbortSignal) => Promise<void>;
}

/**
 * Builds these features from the platform, and hands to each what it needs of others; starts nothing.
 *
 * @param o.remember the feature `node`
 */
export function featuresOf(
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
                allocations: pools && networkAllocations(pools),
                plan: (request, signal) => requested.networks.plan(request, signal),
                hashOf: (request) => requested.networks.hashOf(request),
                planCall: (call, signal) => requested.networks.planCall(call, signal),
                report: (wired) => requested.report(wired),
                failed: (request, error) =>
                    // Failures of allocations are events of the IPPools.
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
        "service-health":
            host.stack !== undefined && o.names.includes("service-health")
                ? serviceHealth(platform, served, host.stack)
                : undefined,
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
