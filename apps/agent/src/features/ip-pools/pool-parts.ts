import { messageOf } from "@antrea/errors";
import type { IpAddress } from "@antrea/ip";
import type { NodePlatform } from "../../platform/node-platform.ts";
import type { Platform } from "../../platform/platform.ts";
import { guardedPrefixes } from "./guarded-prefixes.ts";
import { IpPools } from "./ip-pools.ts";

const allocationsSoonMs = 3_000;

/**
 * Builds the pool allocation of this Node, and declares its metrics, so once per process; undefined if the feature gate
 * AntreaIPAM is disabled. Starts no watch: the caller calls `start` and `close`.
 */
export function buildIpPools({
    clock,
    config,
    environment,
    events,
    gates,
    kube,
    logger,
    metrics,
    nodes,
    random,
}: Platform): IpPools | undefined {
    if (!gates.enabled("AntreaIPAM")) return undefined;
    return new IpPools(
        {
            api: kube.api,
            nodes,
            clock,
            random,
            metrics,
            logger: logger.child("ip-pools"),
            record: (event) => events.record(event),
        },
        {
            nodeName: environment.nodeName,
            cooldownMs: config.ipam.cooldown,
            bridged: config.enableBridgingMode,
        },
    );
}

/**
 * Excludes addresses allocated from pools from the Node's podCIDRs; without pools does nothing. Waits at most 3 s for
 * the API server and logs if it has not answered; the watches continue. Rejects only if the signal aborts.
 *
 * @param subnet the addresses that Pods have or that are held for them
 */
export async function guardSubnets(
    { logger, node, podInterfaces }: Pick<NodePlatform, "logger" | "node" | "podInterfaces">,
    pools: IpPools | undefined,
    subnet: { readonly addresses: () => readonly IpAddress[] },
    signal: AbortSignal,
): Promise<void> {
    const prefixes = guardedPrefixes(node.podPrefixes, podInterfaces, subnet);
    try {
        await pools?.podCidrs.guard(prefixes, AbortSignal.any([signal, AbortSignal.timeout(allocationsSoonMs)]));
    } catch (error) {
        signal.throwIfAborted();
        logger.warn("allocations in the podCIDRs of this Node cannot be read now", { reason: messageOf(error) });
    }
}
