import { Lifecycle, type LifecyclePart, type MainContext } from "@antrea/runtime";
import { buildUplink, uplinkParts } from "../features/bridging/uplink-parts.ts";
import type { Uplink } from "../platform/host/uplink/index.ts";
import { cniServer, type CniNodeParts } from "../features/cni-server/feature.ts";
import { CniServer, Conflist, leavesForGoodMs } from "../features/cni-server/index.ts";
import { delegatedErrorCode } from "../features/delegated-ipam/index.ts";
import { guardHost } from "../features/host-filter/guard-parts.ts";
import { poolErrorCode } from "../features/ip-pools/index.ts";
import { buildIpPools } from "../features/ip-pools/pool-parts.ts";
import type { NetworkNodeParts } from "../features/networks/feature.ts";
import { networksErrorCode, nodeCniFiles } from "../features/networks/index.ts";
import type { PodNodeParts } from "../features/pod-network/feature.ts";
import { checkInterface, checkNetworkInterface, wiringErrorCode } from "../features/pod-network/index.ts";
import { buildNicUplinks, nicUplinkParts, type NicUplinkOf } from "../features/secondary-bridge/nic-uplink-parts.ts";
import { functionErrorCode } from "../features/virtual-functions/index.ts";
import { startFeatures, stopFeatures } from "../platform/feature.ts";
import { ownNode } from "../platform/node/own-node.ts";
import { withNode } from "../platform/node-platform.ts";
import { announceEnd } from "../platform/ovs/end-notice.ts";
import { kubePart, ovsdbPart, ovsdbSessionPart } from "../platform/parts.ts";
import { buildPlatform, patientMs, type Platform } from "../platform/platform.ts";
import { serviceCidrWatch } from "../platform/service-cidr-watch.ts";
import { featureNames, featuresOf, type NodeFeatures } from "./features.ts";

const bridgedSyncLimitMs = 1_000;

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
