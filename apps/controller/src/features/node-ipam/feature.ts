import { type ControllerConfig } from "@antrea/settings";
import { type Feature } from "../../platform/feature.ts";
import { type Platform } from "../../platform/platform.ts";
import { type PoolPlatform } from "../../platform/pool-platform.ts";
import { NodeIpam } from "./node-ipam.ts";
import { PoolAddresses } from "./pool-addresses.ts";
import { type NodeIpamSettings } from "./types.ts";

/**
 * Returns the feature that assigns each Node its podCIDRs from `nodeIPAM.clusterCIDRs`, while leading; see NodeIpam. A
 * configuration that cannot work does not throw: it is the feature's `problem`.
 *
 * @param pools IPPools, whose addresses no Node's subnet may contain; undefined while they are disabled
 */
export function nodeIpam(platform: Platform, pools: PoolPlatform | undefined): Feature {
    const { kube, clock, config, identity, metrics, jobs, events, nodes } = platform;
    const { api } = kube;
    const logger = platform.logger.child("node-ipam");
    const poolAddresses =
        pools && new PoolAddresses({ api, clock, allocations: pools.allocations, pools: pools.pools, logger });
    const worker = new NodeIpam(
        { api, nodes, recorder: events, metrics, jobs, poolAddresses, clock, logger },
        {
            settings: settingsOf(config, platform.subnetCoolingMs),
            namespace: identity.namespace,
            identity: identity.leader,
        },
    );
    return { name: "node-ipam", problem: () => worker.problem, lead: (term) => worker.lead(term) };
}

function settingsOf({ nodeIPAM }: ControllerConfig, coolingMs: number | undefined): NodeIpamSettings {
    const maskSizes = { 4: nodeIPAM.nodeCIDRMaskSizeIPv4, 6: nodeIPAM.nodeCIDRMaskSizeIPv6 };
    const services = [nodeIPAM.serviceCIDR, nodeIPAM.serviceCIDRv6];
    return {
        clusters: nodeIPAM.clusterCIDRs.map((prefix) => ({ prefix, nodeMaskSize: maskSizes[prefix.family] })),
        serviceCidrs: services.filter((prefix) => prefix !== undefined),
        ...(coolingMs !== undefined && { coolingMs }),
    };
}
