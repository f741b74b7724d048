import { readFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "@antrea/async";
import { AntreaError, messageOf } from "@antrea/errors";
import { createKubeClients, EventRecorder, Informer, nodes, TokenReviewAuthorizer } from "@antrea/kube";
import { Netlink } from "@antrea/netlink";
import { OpenFlowConnection } from "@antrea/openflow/connection";
import { OvsdbSession } from "@antrea/ovsdb/session";
import { Jobs, Lifecycle, Metrics, type Job, type LifecyclePart, type MainContext, tellBuild } from "@antrea/runtime";
import { DaemonServer, probePortFrom } from "@antrea/serving";
import { loadAgentConfig, type AgentConfig } from "@antrea/settings";
import { changesPodCidrs, changesRoutes, leavesForGood, podUidOf, slimNode } from "./cluster.ts";
import { ServiceWay, serviceSources } from "./bridged-pods/index.ts";
import { Bridging } from "./bridging.ts";
import { createCniBackend } from "./cni-backend.ts";
import { CniCalls, CniServer } from "./cni-server/index.ts";
import { Conflist, networkNameOf } from "./conflist/index.ts";
import { datapathCondition, datapathOf, DatapathProbe, Unixctl } from "./datapath/index.ts";
import { readEnvironment } from "./environment.ts";
import { EarlierFlows, FlowRestore, FlowTable } from "./flow-table/index.ts";
import { addFirewallJob, guardCondition, guardHost, reporting } from "./host-wiring.ts";
import { IgnoredAnnotations } from "./ignored-annotations.ts";
import { IgnoredNetworks } from "./ignored-networks.ts";
import { keepNetwork } from "./keep-network.ts";
import { IpPools, SubnetHolders } from "./ip-pools/index.ts";
import { IsolatedPods } from "./isolated-pods.ts";
import { LostBandwidth } from "./lost-bandwidth.ts";
import { LockGuard } from "./lock-guard.ts";
import { Masquerade } from "./masquerade/index.ts";
import { declareMetrics, observeCalls } from "./metrics.ts";
import {
    awaitOwnNode,
    followOwnNode,
    type NodeConfig,
    parseGoneAt,
    parseRemembered,
    rememberedAfter,
    rememberedNodeKey,
} from "./node-config/index.ts";
import { netnsPathHere } from "./netns-path.ts";
import { isNodeNetns } from "./node-netns.ts";
import { runNft } from "./nft.ts";
import { BridgeDevice, formatRounds, monitoredColumns, OvsBridge, roundsKey } from "./ovs-bridge/index.ts";
import { allPodPrefixes } from "./peers/index.ts";
import { checkInterface, flowOwner, type PodNetwork } from "./pod-network/index.ts";
import { buildPodNetwork, patientMs, type PodWiring } from "./pod-wiring.ts";
import {
    claimProblem,
    guardedPrefixes,
    isolatedInterfaces,
    poolWiring,
    subnetClaimsWithoutPools,
    subnetInterfaces,
    subnetWiring,
} from "./pool-wiring.ts";
import { buildReadiness } from "./readiness-wiring.ts";
import { buildUplink, UplinkKeeper } from "./uplink-wiring.ts";
import { runProgram } from "./run-program.ts";
import { version } from "./version.ts";
import { addWaysJobs, tunnelCondition } from "./ways-wiring.ts";

const resyncMs = 60_000;
const lockLookMs = 10_000;
/** Without a new Pod a look costs nothing. */
const ignoredLookMs = 1_000;
const ownNodeLookMs = 5_000;
const claimsSoonMs = 3_000;
const eventDelayMs = 500;
const bridgedSyncLimitMs = 1_000;
const uplinkStopMs = 20_000;

/** Builds the agent from its configuration; starts nothing. */
export function compose(context: MainContext): Lifecycle {
    const { logger } = context;
    const base = buildBase(context);
    const {
        kube,
        nodeInformer,
        events,
        ipPools,
        database,
        health,
        readiness,
        jobs,
        openflow,
        conflist,
        environment,
        bridge,
    } = base;
    // Until the Node's podCIDRs are known there is no Pod network, and CNI calls wait or are told so.
    let wiring: PodWiring | undefined;
    const { backend, server } = buildCni(base, () => wiring?.podNetwork);

    const keeper = new UplinkKeeper(base);
    if (base.bridging !== undefined) health.addCheck("uplink", "ready", () => keeper.problem);

    const lifecycle = new Lifecycle({ logger });
    // What the recovery takes out of the database, it takes out by this session; and so does the end of the agent.
    lifecycle.append({
        name: "ovsdb-session",
        start: (signal) => {
            database.onDisconnect(() => readiness.unmet("ovsdb", "ovsdb-server is not connected"));
            database.start(signal);
        },
        stop: () => database.close(),
    });
    // Also when the agent is told to end before its start is over.
    lifecycle.append({ name: "uplink-end", stopTimeoutMs: uplinkStopMs, stop: () => keeper.stop() });
    // Before anything that needs the network: an agent that was killed may have left the Node without.
    lifecycle.append({ name: "uplink-recovery", start: async (signal) => void (await base.uplink.recover(signal)) });
    lifecycle.append({ name: "health", start: (signal) => health.start(signal), stop: () => health.stop() });
    lifecycle.append({
        name: "kube",
        start: (signal) => {
            nodeInformer.start(signal);
            events.start(signal);
            ipPools?.start(signal);
        },
        stop: async () => {
            await ipPools?.close();
            await events.close();
            await nodeInformer.close();
            kube.close();
        },
    });
    lifecycle.append({
        name: "ovsdb",
        startTimeoutMs: patientMs,
        start: async (signal) => {
            await database.ready(signal);
            await database.lockAcquired(signal);
            readiness.met("ovsdb");
        },
    });
    // After the lock: a second agent on the Node must not take the socket of the first.
    lifecycle.append({ name: "cni-server", start: () => server.start(), stop: () => server.stop() });
    lifecycle.append({
        name: "pod-network",
        startTimeoutMs: patientMs,
        start: async (signal) => {
            const node = await awaitOwnNode(
                {
                    nodes: nodeInformer,
                    remembered: () => parseRemembered(bridge.externalId(rememberedNodeKey), environment.nodeName),
                    netlink: base.netlink,
                    logger,
                },
                { nodeName: environment.nodeName, config: base.config, syncLimitMs: syncLimitOf(base) },
                signal,
            );
            const goneAt = parseGoneAt(bridge.externalId(rememberedNodeKey), environment.nodeName);
            if (goneAt !== undefined) ipPools?.recallGone(goneAt);
            // Other podCIDRs concern everything that is built from them: the process starts again.
            const lookAtNode = followOwnNode({ nodes: nodeInformer, goneAt, readiness, fail: base.fail, logger }, node);
            await guardHost(base, runNft);
            const built = await buildPodNetwork(base, node, signal);
            const forgetEarlier = await startFlows(base, built, signal, () => {
                wiring = built;
            });
            backend.networkBuilt();
            const ovs = addOvsJobs(base, built);
            addWaysJobs(base, { ...built, node, ovs, forgetEarlier });
            addNodeJobs(base, node, lookAtNode);
            addFirewallJob(base, node, () => built.transport.underlay);
            addBridgingJobs(base, built, ovs);
            addPoolJobs(base, built);
            addBandwidthJob(base, built);
            jobs.every("conflist", resyncMs, () => conflist.write());
            declareMetrics(base.metrics, built.podNetwork, built.subnet, base.flowTable);
        },
        stop: async () => {
            if (await leavesForGood(kube.api, environment.podNamespace, { logger })) {
                await conflist.remove();
                logger.info("the DaemonSet is gone: the CNI configuration is removed from this Node");
            }
            wiring?.transport[Symbol.dispose]();
            wiring?.routes[Symbol.dispose]();
            base.bridging?.[Symbol.dispose]();
            await openflow.close();
        },
    });
    lifecycle.append(uplinkPart(base, keeper, () => wiring));
    lifecycle.append({ name: "jobs", start: (signal) => jobs.start(signal), stop: () => jobs.stop() });
    // Running Pods have their traffic; new ones wait until all addresses in use are known.
    lifecycle.append({
        name: "known-addresses",
        startTimeoutMs: patientMs,
        start: async (signal) => {
            await wiring?.reconciler.holdKnownAddresses(signal);
            if (wiring !== undefined) await guardSubnets(base, wiring, signal);
            readiness.met("records");
        },
    });
    // Stopped first, so that the calls under way end while all that they need still stands.
    lifecycle.append({ name: "cni-calls", stop: () => server.stop() });
    return lifecycle;
}

export type Base = ReturnType<typeof buildBase>;

/** Moves the Node's interface when the flows that its traffic needs are in place, and back before they go. */
function uplinkPart(base: Base, keeper: UplinkKeeper, wiring: () => PodWiring | undefined): LifecyclePart {
    return {
        name: "uplink",
        start: async () => {
            const built = wiring();
            if (base.bridging === undefined) await keeper.leave();
            else if (built !== undefined) keeper.addJobs(built.transport);
        },
        stopTimeoutMs: uplinkStopMs,
        stop: () => keeper.stop(),
    };
}

/** What does not depend on the Node's podCIDRs. */
function buildBase(context: MainContext) {
    const { logger, flags, fail } = context;
    const configPath = flags.config ?? "/etc/antrea/antrea-agent.conf";
    const { config, warnings, gates } = loadAgentConfig(readFileSync(configPath, "utf8"));
    for (const warning of warnings) logger.warn("configuration", { warning });
    const datapath = datapathOf(config.ovsDatapathType);
    const mode = modeOf(config);
    logger.info("feature gates", { gates: gates.list("agent").map(({ name, status }) => `${name}=${status}`) });
    const environment = readEnvironment(configPath, process.env);
    const kube = createKubeClients({
        userAgent: "antrea-agent",
        apiServerOverride: config.kubeAPIServerOverride,
        kubeconfig: config.clientConnection.kubeconfig,
    });
    const metrics = new Metrics();
    tellBuild(metrics, "antrea-agent", version);
    const database = new OvsdbSession(
        { logger: logger.child("ovsdb") },
        { socketPath: join(config.ovsRunDir, "db.sock"), monitor: monitoredColumns, lock: "antrea_agent" },
    );
    const openflow = new OpenFlowConnection(
        { logger: logger.child("openflow") },
        { socketPath: join(config.ovsRunDir, `${config.ovsBridge}.mgmt`) },
    );
    const health = new DaemonServer(
        {
            logger: logger.child("health"),
            metrics: config.enablePrometheusMetrics ? metrics : undefined,
            authorize: new TokenReviewAuthorizer({ api: kube.api }, { path: "/metrics" }).authorize,
        },
        {
            name: "antrea-agent",
            port: config.apiPort,
            probePort: probePortFrom(process.env),
            ...(config.tlsCipherSuites === undefined ? {} : { ciphers: config.tlsCipherSuites }),
            ...(config.tlsMinVersion === undefined ? {} : { minVersion: config.tlsMinVersion }),
        },
    );
    const { nodeName } = environment;
    const nodeInformer = new Informer(
        { api: kube.api, logger: logger.child("nodes") },
        { resource: nodes, transform: slimNode },
    );
    const jobs = new Jobs({ logger: logger.child("jobs"), metrics });
    const readiness = buildReadiness(
        {
            api: kube.api,
            health,
            jobs,
            metrics,
            openflow,
            clock: systemClock,
            logger: logger.child("kube"),
        },
        {
            ovsdb: "ovsdb-server is not connected, or another antrea-agent runs on this Node",
            node: "the Node's podCIDRs are not known",
            openflow: "ovs-vswitchd is not connected",
            records: "the Pod interfaces of this Node are not rebuilt",
            [datapathCondition]: "the datapath of OVS was not looked at",
            ...(datapath.copiesFrames && { [guardCondition]: "what Pods send is not kept from the Node's stack yet" }),
            ...(mode !== "noEncap" && { [tunnelCondition]: "the way of tunnels was not looked at" }),
        },
    );
    const events = new EventRecorder(
        { api: kube.api, logger: logger.child("events") },
        { reportingController: "antrea-agent", reportingInstance: environment.podName, delayMs: eventDelayMs },
    );
    const ipPools = gates.enabled("AntreaIPAM")
        ? new IpPools(
              {
                  api: kube.api,
                  nodes: nodeInformer,
                  metrics,
                  logger: logger.child("ip-pools"),
                  record: (event) => events.record(event),
              },
              { nodeName, cooldownMs: config.ipam.cooldown, bridged: config.enableBridgingMode },
          )
        : undefined;
    const netlink = Netlink.open();
    const flowTable = new FlowTable({ link: openflow, logger: logger.child("flows") });
    const bridging = config.enableBridgingMode
        ? new Bridging({ flowTable, openflow, logger: logger.child("bridging") })
        : undefined;
    const bridge = new OvsBridge({ database }, { bridge: config.ovsBridge, datapathType: config.ovsDatapathType });
    const uplink = buildUplink({ bridge, config, database, datapath, environment, kube, logger, netlink, openflow });
    return {
        jobs,
        logger,
        fail,
        config,
        gates,
        environment,
        kube,
        metrics,
        database,
        openflow,
        readiness,
        health,
        nodeInformer,
        events,
        ipPools,
        datapath,
        mode,
        netlink,
        flowTable,
        bridge,
        bridging,
        uplink,
        probe: new DatapathProbe(
            { control: new Unixctl({ runDir: config.ovsRunDir }), readiness, logger: logger.child("datapath") },
            { bridge: config.ovsBridge, datapath },
        ),
        conflist: new Conflist({
            folder: environment.cniConfFolder,
            name: "10-antrea.conflist",
            content: environment.conflist,
            mode: environment.cniConfMode,
        }),
    };
}

function buildCni(base: Base, network: () => PodNetwork | undefined) {
    const { kube, netlink, bridge, flowTable, openflow, readiness, logger, metrics, config, environment } = base;
    const backend = createCniBackend({
        readiness,
        network,
        netnsPath: (path) => netnsPathHere(path, config.hostProcPathPrefix),
        networkName: networkNameOf(environment.conflist),
        isNodeNetns: (path) => isNodeNetns(path, config.hostProcPathPrefix),
        podUid: (namespace, name) => podUidOf(kube.api, namespace, name),
        check: (known, input) =>
            checkInterface(
                {
                    netlink,
                    port: (name) => bridge.port(name),
                    flowsOf: (one) => flowTable.flowsOf(flowOwner(one.record)),
                    dumpFlows: () => openflow.dumpFlows(),
                    claimProblem: (record) => claimProblem(base.ipPools, record),
                },
                { known, ...input },
            ),
    });
    const calls = new CniCalls({
        backend,
        logger: logger.child("cni"),
        observe: observeCalls(metrics),
        now: () => performance.now(),
    });
    return { backend, server: new CniServer({ calls }, { socketPath: config.cniSocket }) };
}

/** A bridged Node has no way to the API server before this agent's flows are in OVS. */
function syncLimitOf({ uplink }: Base): number | undefined {
    return uplink.state.kind === "found" ? bridgedSyncLimitMs : undefined;
}

/**
 * Brings the flows of this start into OVS beside those of earlier ones, then deletes the earlier ones: but the ways to
 * other Nodes and to Services only when these are known. The returned function is to be called when the Nodes are.
 */
async function startFlows(
    base: Base,
    { pipeline, reconciler, peers }: PodWiring,
    signal: AbortSignal,
    replayed: () => void,
): Promise<(limit: AbortSignal) => Promise<void>> {
    const { bridge, bridging, flowTable, ipPools, logger, nodeInformer, openflow, readiness } = base;
    flowTable.stage("pipeline", await pipeline(signal));
    if (nodeInformer.hasSynced) peers.stage();
    const rounds = await bridge.beginRound(signal);
    flowTable.useRound(rounds.current);
    const earlier = new EarlierFlows(
        {
            flowTable,
            learned: async (limit) => {
                if (bridging === undefined) return true;
                if (ipPools?.book.serviceCidrs === undefined) return false;
                await flowTable.set("pipeline", await pipeline(limit), limit);
                return true;
            },
            forgotten: (limit) =>
                bridge.setExternalId(roundsKey, formatRounds({ current: rounds.current, earlier: [] }), limit),
        },
        { rounds: rounds.earlier },
    );
    const release = (limit?: AbortSignal): Promise<void> => bridge.endFlowRestore(limit);
    const restore = new FlowRestore({ flowTable, release, logger: logger.child("flows") });
    const firstReplay = Promise.withResolvers<void>();
    openflow.onReady(async (link) => {
        await restore.replay(link);
        readiness.met("openflow");
        firstReplay.resolve();
    });
    openflow.start(signal);
    await firstReplay.promise;
    replayed();
    await reconciler.restoreAll(signal);
    await restore.allKnown(signal);
    await earlier.deleteOwn();
    return (limit) => earlier.deleteLearned(limit);
}

/** Keeps OVS as it must be, whatever happens to it, and the records in step with what lives. */
function addOvsJobs(base: Base, { gateway, pipeline, reconciler }: PodWiring): Job {
    const { bridge, bridging, config, database, flowTable, jobs, logger, netlink, openflow, probe, readiness } = base;
    const bridgeDevice = new BridgeDevice(
        { bridge, netlink, logger: logger.child("ovs-bridge") },
        { bridge: config.ovsBridge, datapathType: config.ovsDatapathType },
    );
    // It keeps no Pod from being wired.
    base.health.addCheck("bridge-device", "ready", () => bridgeDevice.problem);
    base.health.addCheck("pod-interfaces", "ready", () => reconciler.problem);
    const ovs = jobs.every("ovs", resyncMs, async (limit) => {
        await bridge.ensure(limit);
        // A bridge that comes back after its database was lost has none.
        if (bridging !== undefined) await bridge.fixDatapathId(bridging.mac, limit);
        // The transaction was made, so there is a connection, and the lock is ours.
        readiness.met("ovsdb");
        await probe.passed(limit);
        await keepNetwork({ bridge, bridgeDevice, flowTable, gateway, pipeline, readiness, reconciler }, limit);
    });
    database.onConnect(() => ovs.trigger());
    database.onLockChange((state) => {
        if (state !== "locked") readiness.unmet("ovsdb", "the lock of this Node's OVS database is not held");
        ovs.trigger();
    });
    openflow.onReady(() => ovs.trigger());
    const guard = new LockGuard({ lockState: () => database.lockState, fail: base.fail });
    jobs.every("ovsdb-lock", lockLookMs, () => guard.look());
    return ovs;
}

/** Masquerading, and what is remembered of this Node, follow the Node objects. */
function addNodeJobs(base: Base, node: NodeConfig, lookAtNode: () => void): void {
    const { bridge, bridging, config, environment, health, jobs, logger, mode, nodeInformer } = base;
    const families = node.podPrefixes.map(({ family }) => family);
    // Pods without a way to the outside still have one to each other: this keeps none from being wired.
    let problem: string | undefined;
    health.addCheck("masquerade", "ready", () => problem);
    const masquerade = new Masquerade({ logger: logger.child("masquerade"), nft: runNft });
    // Without the Nodes, while the API server is away, what an earlier start set stays as it is.
    const masquerading = jobs.every("masquerade", resyncMs, async (limit) => {
        await nodeInformer.synced(limit);
        const input = {
            podPrefixes: node.podPrefixes,
            // Our own too while the Node object is gone and comes again.
            clusterPrefixes: [...node.podPrefixes, ...allPodPrefixes(nodeInformer.list())],
            gatewayName: config.hostGateway,
            noSnat: config.noSNAT,
            randomFully: config.snatFullyRandomPorts,
            poolPods: base.gates.enabled("AntreaIPAM") && bridging === undefined,
            tunnelSources: mode === "noEncap" ? [] : node.gatewayIps,
            bridging: bridging && {
                serviceSources: serviceSources(families),
                taggedPods: bridging.pods.tagged().flatMap(({ ips }) => ips),
            },
        };
        const what = "traffic of Pods to other networks is not masqueraded";
        await reporting({ what, report: (text) => (problem = text) }, () => masquerade.reconcile(input));
    });
    bridging?.pods.onTaggedChange(() => masquerading.trigger());
    // For a start while the API server is away, or has no podCIDRs for this Node.
    const remembering = jobs.every("remember-node", resyncMs, async (limit) => {
        await nodeInformer.synced(limit);
        lookAtNode();
        const { nodeName } = environment;
        const before = bridge.externalId(rememberedNodeKey);
        const goneAt = base.ipPools?.nodeGoneAt ?? systemClock.now();
        const text = rememberedAfter(before, nodeInformer.get(nodeName), { nodeName, goneAt });
        if (text !== undefined && text !== before) await bridge.setExternalId(rememberedNodeKey, text, limit);
    });
    nodeInformer.onChange((type, key, object, old) => {
        if (changesPodCidrs(type, object, old)) masquerading.trigger();
        if (key === environment.nodeName && changesRoutes(type, object, old)) remembering.trigger();
    });
}

/** The way of Services' answers to bridged Pods, or its removal after bridging mode was switched off. */
function addBridgingJobs(
    { bridging, config, ipPools, jobs, netlink, openflow }: Base,
    { podPrefixes }: PodWiring,
    ovs: Job,
): void {
    const way = new ServiceWay({ netlink }, { gatewayName: config.hostGateway });
    if (bridging === undefined) {
        jobs.once("service-way", () => way.remove());
        return;
    }
    const families = podPrefixes.map(({ family }) => family);
    const ensuring = jobs.every("service-way", resyncMs, () => way.ensure(families));
    ipPools?.book.onServiceCidrs(() => ovs.trigger());
    openflow.onReady(() => ensuring.trigger());
}

/** Keeps what is claimed from pools inside the podCIDRs out of them; while the API server is away nobody can tell. */
async function guardSubnets(
    { ipPools, logger }: Base,
    { podPrefixes, podNetwork, subnet }: PodWiring,
    signal: AbortSignal,
): Promise<void> {
    const prefixes = guardedPrefixes(podPrefixes, podNetwork, subnet);
    try {
        await ipPools?.guard(prefixes, AbortSignal.any([signal, AbortSignal.timeout(claimsSoonMs)]));
    } catch (error) {
        signal.throwIfAborted();
        logger.warn("claims in the podCIDRs of this Node cannot be read now", { reason: messageOf(error) });
    }
}

/** Keeps claims of IPPools in step with what is wired; while pools are off, reports what is ignored and who is isolated. */
function addPoolJobs(base: Base, { podNetwork }: PodWiring): void {
    const { ipPools, jobs, metrics, netlink, nodeInformer, events, kube, environment, logger } = base;
    const added = (): number[] => podNetwork.interfaces().map(({ addedAt }) => addedAt);
    const ignoredNetworks = new IgnoredNetworks(
        {
            api: kube.api,
            events,
            logger: logger.child("cni"),
            lastAdd: () => Math.max(0, ...added().filter(Number.isFinite)),
        },
        { nodeName: environment.nodeName },
    );
    jobs.every("ignored-networks", resyncMs, (limit) => ignoredNetworks.look(limit));
    if (ipPools === undefined) {
        const ignored = new IgnoredAnnotations(
            {
                api: kube.api,
                events,
                logger: logger.child("ip-pools"),
                interfaces: () => subnetInterfaces(podNetwork),
            },
            { nodeName: environment.nodeName },
        );
        const backoff = { initialMs: ignoredLookMs, maxMs: resyncMs };
        jobs.every("ignored-annotations", ignoredLookMs, (limit) => ignored.look(limit), { backoff });
        const holders = new SubnetHolders({ nodes: nodeInformer }, { nodeName: environment.nodeName });
        const isolated = new IsolatedPods(
            {
                api: kube.api,
                events,
                holders,
                metrics,
                logger: logger.child("ip-pools"),
                interfaces: () => isolatedInterfaces(podNetwork),
            },
            { nodeName: environment.nodeName },
        );
        const lostSubnets = subnetClaimsWithoutPools({
            holders,
            wiring: subnetWiring(podNetwork, netlink),
            logger: logger.child("ip-pools"),
        });
        const looking = jobs.every("isolated-pods", resyncMs, async (limit) => {
            await lostSubnets.look(limit);
            await isolated.look(limit);
        });
        nodeInformer.onChange((type, _name, node, old) => {
            if (changesPodCidrs(type, node, old)) looking.trigger();
        });
        return;
    }
    const wiring = poolWiring(podNetwork, netlink);
    const claims = jobs.every("claims", resyncMs, (limit) => ipPools.reconcile(wiring, limit), claimsJob);
    ipPools.onReconcileDue(() => claims.trigger());
    const ofSubnet = subnetWiring(podNetwork, netlink);
    const subnetClaims = jobs.every("subnet-claims", resyncMs, (limit) => ipPools.lookAtSubnets(ofSubnet, limit));
    ipPools.onSubnetClaim(() => subnetClaims.trigger());
    jobs.every("own-node", ownNodeLookMs, (limit) => ipPools.lookAtOwnNode(wiring, limit));
    nodeInformer.onChange((type, name, node, old) => {
        const hasOtherPodCidrs = changesPodCidrs(type, node, old);
        // An address that is in no IPPool any more may be another Node's now.
        if (hasOtherPodCidrs || (type === "added" && name === environment.nodeName)) claims.trigger();
        if (hasOtherPodCidrs) subnetClaims.trigger();
    });
}

/**
 * An interface is asked about for 3 s, so a pass over all of a Node in an outage takes some minutes. One that takes longer
 * waits for the first list of its claims: that is reported, as a failure of the job. When the API server is back, isolated
 * Pods must not wait long.
 */
const claimsJob = { timeoutMs: 600_000, backoff: { initialMs: 1_000, maxMs: 10_000 } };

/** Reports limits of Pods that a start of OVS has removed. */
function addBandwidthJob({ jobs, events, kube, environment, logger, openflow }: Base, { podNetwork }: PodWiring): void {
    const lost = new LostBandwidth(
        {
            api: kube.api,
            events,
            logger: logger.child("cni"),
            interfaces: () => podNetwork.interfaces().map(({ record }) => record),
            qdiscs: () => runProgram("tc", ["-j", "qdisc", "show"]),
        },
        { nodeName: environment.nodeName },
    );
    lost.ovsConnected();
    jobs.every("lost-bandwidth", resyncMs, (limit) => lost.look(limit));
    openflow.onReady(() => lost.ovsConnected());
}

class ModeError extends AntreaError<"MODE_NOT_AVAILABLE"> {}

/** The mode, which the rules of the configuration have limited to these. */
function modeOf({ trafficEncapMode }: AgentConfig): "encap" | "noEncap" | "hybrid" {
    if (trafficEncapMode !== "networkPolicyOnly") return trafficEncapMode;
    throw new ModeError("MODE_NOT_AVAILABLE", "unsupported", `trafficEncapMode ${trafficEncapMode} is not available`);
}
