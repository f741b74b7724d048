import { Lifecycle, type LifecyclePart, type MainContext } from "@antrea/runtime";
import { serviceSources } from "../features/bridging/bridged-pods/index.ts";
import { Bridging } from "../features/bridging/bridging.ts";
import { addBridgedPodsJob, addServiceRouteJob, uplinkEnd, uplinkPart } from "../features/bridging/feature.ts";
import { UplinkKeeper } from "../features/bridging/uplink-keeper.ts";
import { conflistText } from "../features/cni-server/conflist/index.ts";
import { leavesForGood } from "../features/cni-server/leaves-for-good.ts";
import { addFirewallJob, guardHost } from "../features/host-filter/feature.ts";
import { addJobsWithoutPools, addPoolJobs, guardSubnets } from "../features/ip-pools/feature.ts";
import { guardedPrefixes } from "../features/ip-pools/index.ts";
import { addMasqueradeJob } from "../features/masquerade/feature.ts";
import { addRouteJobs } from "../features/node-routes/feature.ts";
import { allPodPrefixes } from "../features/node-routes/index.ts";
import { addBandwidthJob, addOvsJobs } from "../features/pod-network/feature.ts";
import { declarePodMetrics } from "../features/pod-network/metrics.ts";
import { addIgnoredNetworksJob } from "../features/secondary-networks/feature.ts";
import {
    awaitOwnNode,
    followOwnNode,
    parseGoneAt,
    parseRemembered,
    rememberedNodeKey,
} from "../platform/node/config/index.ts";
import { addRememberJob } from "../platform/node/remember-node.ts";
import { AgentPipeline } from "../platform/ovs/pipeline.ts";
import { buildPlatform, type Platform } from "../platform/platform.ts";
import { buildCni } from "./cni.ts";
import { nodeParts, type NodeParts } from "./node-parts.ts";
import { buildPodNetwork, patientMs, type PodWiring } from "./pod-wiring.ts";
import { startFlows } from "./start-flows.ts";

const resyncMs = 60_000;
const bridgedSyncLimitMs = 1_000;

/** Builds the agent from its configuration; starts nothing. */
export function compose(context: MainContext): Lifecycle {
    return composeAgent(buildPlatform(context));
}

/**
 * Adds the features of the agent to the platform, in the order in which they start; starts nothing.
 *
 * @param parts default: those of the Node on which the agent runs
 */
export function composeAgent(platform: Platform, parts: NodeParts = nodeParts): Lifecycle {
    const {
        bridge,
        clock,
        config,
        database,
        environment,
        health,
        jobs,
        kube,
        logger,
        netlink,
        nodes,
        openflow,
        podInterfaces,
        readiness,
    } = platform;
    const ipPools = parts.ipPools(platform);
    const pipeline = new AgentPipeline();
    const bridging = config.enableBridgingMode
        ? new Bridging({
              flowTable: platform.flowTable,
              next: pipeline,
              openflow,
              clock,
              logger: logger.child("bridging"),
              metrics: platform.metrics,
          })
        : undefined;
    const uplink = parts.uplink(platform);
    const keeper = new UplinkKeeper({ ...platform, uplink, bridging });
    if (bridging !== undefined) health.addCheck("uplink", "ready", () => keeper.problem);
    const conflistContent = environment.conflist ?? conflistText({ portmap: true, bandwidth: true });
    const conflist = parts.conflist({
        folder: environment.cniConfFolder,
        name: "10-antrea.conflist",
        content: conflistContent,
        mode: environment.cniConfMode,
    });
    // Until the Node's podCIDRs are known there is no Pod network, and CNI calls wait or report that.
    let wiring: PodWiring | undefined;
    const cni = buildCni(platform, { ipPools, conflist: conflistContent, network: () => wiring?.podNetwork, parts });

    const podNetwork = async (signal: AbortSignal): Promise<void> => {
        const node = await awaitOwnNode(
            {
                nodes,
                remembered: () => parseRemembered(bridge.externalId(rememberedNodeKey), environment.nodeName),
                netlink,
                clock,
                logger,
            },
            {
                nodeName: environment.nodeName,
                config,
                // A bridged Node cannot reach the API server before this agent's flows are in OVS.
                syncLimitMs: uplink.state.kind === "found" ? bridgedSyncLimitMs : undefined,
            },
            signal,
        );
        const goneAt = parseGoneAt(bridge.externalId(rememberedNodeKey), environment.nodeName);
        if (goneAt !== undefined) ipPools?.recallGone(goneAt);
        // Changed podCIDRs affect everything built from them: the process restarts.
        const lookAtNode = followOwnNode({ nodes, goneAt, readiness, fail: platform.fail, logger }, node);
        await guardHost(platform);
        const built = await buildPodNetwork(
            platform,
            { bridging, ipPools, pipeline, namespaces: parts.namespaces },
            node,
            signal,
        );
        const onServiceCidrs =
            bridging && ((listener: () => void): void => void ipPools?.book.onServiceCidrs(listener));
        const bridgedMac = bridging && ((): string => bridging.mac);
        const serviceCidrsKnown = bridging && ((): boolean => ipPools?.book.serviceCidrs !== undefined);
        const forgetEarlier = await startFlows(platform, { ...built, serviceCidrsKnown }, signal, () => {
            wiring = built;
        });
        cni.backend.networkBuilt();
        const ovs = addOvsJobs(platform, { ...built, bridgedMac });
        addRouteJobs(platform, { ...built, node, ovs, bridgedMac, onServiceCidrs, forgetEarlier });
        const families = node.podPrefixes.map(({ family }) => family);
        addMasqueradeJob(platform, node, {
            clusterPrefixes: () => allPodPrefixes(nodes.list()),
            bridging: bridging && {
                serviceSources: serviceSources(families),
                taggedPods: () => bridging.pods.tagged().flatMap(({ ips }) => ips),
                onTaggedChange: (listener) => bridging.pods.onTaggedChange(listener),
            },
        });
        addRememberJob(platform, { lookAtNode, goneAt: () => ipPools?.nodeGoneAt ?? clock.now() });
        addFirewallJob(platform, node, () => built.transport.underlay);
        addServiceRouteJob(platform, bridging !== undefined, families);
        if (bridging !== undefined) addBridgedPodsJob(platform, bridging.pods);
        onServiceCidrs?.(() => ovs.trigger());
        addIgnoredNetworksJob(platform);
        // Subscribers of Pod interfaces: the allocations from pools, or reports of what is ignored without pools.
        if (ipPools !== undefined) addPoolJobs(platform, ipPools, built.podNetwork);
        else addJobsWithoutPools(platform, built.podNetwork);
        addBandwidthJob(platform);
        jobs.every("cni-server/conflist", resyncMs, () => conflist.write());
        declarePodMetrics(platform.metrics, podInterfaces, built.subnet, platform.flowTable);
    };

    const lifecycleParts: readonly LifecyclePart[] = [
        // The recovery and the end of the agent remove ports from the database through this session.
        {
            name: "ovsdb-session",
            start: (signal) => {
                database.onDisconnect(() => readiness.unmet("ovsdb", "ovsdb-server is not connected"));
                database.start(signal);
            },
            stop: () => database.close(),
        },
        uplinkEnd(keeper),
        // Before anything that needs the network: a killed agent may have left the Node disconnected.
        { name: "uplink-recovery", start: async (signal) => void (await uplink.recover(signal)) },
        { name: "health", start: (signal) => health.start(signal), stop: () => health.stop() },
        {
            name: "kube",
            start: (signal) => {
                nodes.start(signal);
                platform.events.start(signal);
                ipPools?.start(signal);
            },
            stop: async () => {
                await ipPools?.close();
                await platform.events.close();
                await nodes.close();
                kube.close();
            },
        },
        {
            name: "ovsdb",
            startTimeoutMs: patientMs,
            start: async (signal) => {
                await database.ready(signal);
                await database.lockAcquired(signal);
                readiness.met("ovsdb");
            },
        },
        // After the lock: a second agent on the Node must not take over the socket of the first. Calls in progress end
        // while everything they need still runs.
        { name: "cni-server", start: () => cni.server.start(), preStop: () => cni.server.stop() },
        {
            name: "pod-network",
            startTimeoutMs: patientMs,
            start: podNetwork,
            stop: async () => {
                if (await leavesForGood(kube.api, environment.podNamespace, { logger, clock })) {
                    await conflist.remove();
                    logger.info("the DaemonSet is gone: the CNI configuration is removed from this Node");
                }
                wiring?.transport[Symbol.dispose]();
                wiring?.routes[Symbol.dispose]();
                bridging?.[Symbol.dispose]();
                await openflow.close();
            },
        },
        uplinkPart(keeper, bridging !== undefined, () => wiring?.transport),
        { name: "jobs", start: (signal) => jobs.start(signal), stop: () => jobs.stop() },
        // Running Pods have traffic; new ones wait until all addresses in use are known.
        {
            name: "known-addresses",
            startTimeoutMs: patientMs,
            start: async (signal) => {
                await wiring?.reconciler.holdKnownAddresses(signal);
                if (wiring !== undefined) {
                    const { podPrefixes, subnet } = wiring;
                    await guardSubnets(platform, ipPools, guardedPrefixes(podPrefixes, podInterfaces, subnet), signal);
                }
                readiness.met("records");
            },
        },
    ];
    const lifecycle = new Lifecycle({ logger, clock });
    for (const part of lifecycleParts) lifecycle.append(part);
    return lifecycle;
}
