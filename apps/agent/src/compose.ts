import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { AntreaError, messageOf } from "@antrea/errors";
import { pipelineFlows } from "@antrea/flows";
import { formatPrefix, parseIp } from "@antrea/ip";
import {
    createKubeClients,
    Informer,
    nodes,
    pods,
    TokenReviewAuthorizer,
    type ApiClient,
    type KubeObject,
    type Node,
    type Resource,
} from "@antrea/kube";
import { Netlink } from "@antrea/netlink";
import { OpenFlowConnection } from "@antrea/openflow/connection";
import { OvsdbSession } from "@antrea/ovsdb/session";
import { HealthServer, Jobs, Lifecycle, Metrics, type Logger, type MainContext } from "@antrea/runtime";
import { loadAgentConfig, type AgentConfig } from "@antrea/settings";
import { createCniBackend } from "./cni-backend.ts";
import { CniCalls, CniServer, type ObserveCall } from "./cni-server/index.ts";
import { Conflist } from "./conflist/index.ts";
import { readEnvironment, type AgentEnvironment } from "./environment.ts";
import { FlowTable } from "./flow-table/index.ts";
import { Gateway } from "./gateway/index.ts";
import { Masquerade, runNft } from "./masquerade/index.ts";
import {
    findTransport,
    gatewayIpOf,
    internalIpsOf,
    podPrefixesOf,
    type NodeConfig,
    type NodeObject,
} from "./node-config/index.ts";
import { allPodPrefixes, NodeRoutes } from "./node-routes/index.ts";
import { formatRounds, monitoredColumns, OvsBridge, roundsKey } from "./ovs-bridge/index.ts";
import {
    checkInterface,
    flowOwner,
    NodeSubnet,
    PodNetwork,
    PodReconciler,
    type KnownPod,
} from "./pod-network/index.ts";
import { Readiness } from "./readiness.ts";

const resyncMs = 60_000;
/** The start waits for what others bring (OVS, the API server, a podCIDR); the log says what for. */
const patientMs = 24 * 3_600_000;
const gatewayOfPort = 32769;

const daemonSets: Resource<KubeObject> = {
    group: "apps",
    version: "v1",
    plural: "daemonsets",
    kind: "DaemonSet",
    namespaced: true,
};

/** Builds the agent from its configuration; starts nothing. */
export function compose(context: MainContext): Lifecycle {
    const { logger, flags, fail } = context;
    const configPath = flags.config ?? "/etc/antrea/antrea-agent.conf";
    const { config, warnings } = loadAgentConfig(readFileSync(configPath, "utf8"));
    for (const warning of warnings) logger.warn("configuration", { warning });
    const environment = readEnvironment(configPath, process.env);
    const kube = createKubeClients({
        userAgent: "antrea-agent",
        ...(config.kubeAPIServerOverride === undefined ? {} : { apiServerOverride: config.kubeAPIServerOverride }),
        ...(config.clientConnection.kubeconfig === undefined ? {} : { kubeconfig: config.clientConnection.kubeconfig }),
    });
    const metrics = new Metrics();
    const readiness = new Readiness({
        ovsdb: "ovsdb-server is not connected, or another antrea-agent runs on this Node",
        node: "the Node's podCIDRs are not known",
        openflow: "ovs-vswitchd is not connected",
        records: "the Pod interfaces of this Node are not rebuilt",
    });
    const health = new HealthServer(
        {
            logger: logger.child("health"),
            metrics,
            authorize: new TokenReviewAuthorizer({ api: kube.api }, { path: "/metrics" }).authorize,
        },
        {
            name: "antrea-agent",
            port: config.apiPort,
            ...(config.tlsCipherSuites === undefined ? {} : { ciphers: config.tlsCipherSuites }),
            ...(config.tlsMinVersion === undefined ? {} : { minVersion: config.tlsMinVersion }),
        },
    );
    health.addCheck("network", "ready", () => readiness.missing());

    const nodeInformer = new Informer(
        { api: kube.api, logger: logger.child("nodes") },
        { resource: nodes, transform: slimNode },
    );
    const database = new OvsdbSession(
        { logger: logger.child("ovsdb") },
        { socketPath: join(config.ovsRunDir, "db.sock"), monitor: monitoredColumns, lock: "antrea_agent" },
    );
    const openflow = new OpenFlowConnection(
        { logger: logger.child("openflow") },
        { socketPath: join(config.ovsRunDir, `${config.ovsBridge}.mgmt`) },
    );
    const netlink = Netlink.open();
    const bridge = new OvsBridge({ database }, { bridge: config.ovsBridge, datapathType: config.ovsDatapathType });
    const flowTable = new FlowTable({ link: openflow, logger: logger.child("flows") });
    const jobs = new Jobs({ logger: logger.child("jobs"), metrics });
    const conflist = new Conflist({
        folder: environment.cniConfFolder,
        name: "10-antrea.conflist",
        content: environment.conflist,
        mode: environment.cniConfMode,
    });

    let network: PodNetwork | undefined;
    const calls = new CniCalls({
        backend: createCniBackend({
            readiness,
            network: () => network,
            podUid: (namespace, name) => podUidOf(kube.api, namespace, name),
            check: (known, input) =>
                checkInterface(
                    {
                        netlink,
                        port: (name) => bridge.port(name),
                        flowsOf: (one) => flowTable.flowsOf(flowOwner(one.record)),
                        dumpFlows: () => openflow.dumpFlows(),
                    },
                    { known, ...input },
                ),
        }),
        logger: logger.child("cni"),
        observe: observeCalls(metrics),
        now: () => performance.now(),
    });
    const server = new CniServer({ calls }, { socketPath: config.cniSocket });

    const lifecycle = new Lifecycle({ logger });
    lifecycle.append({ name: "health", start: (signal) => health.start(signal), stop: () => health.stop() });
    lifecycle.append({
        name: "kube",
        start: (signal) => nodeInformer.start(signal),
        stop: async () => {
            await nodeInformer.close();
            kube.close();
        },
    });
    lifecycle.append({
        name: "ovsdb",
        startTimeoutMs: patientMs,
        start: async (signal) => {
            database.onDisconnect(() => readiness.unmet("ovsdb", "ovsdb-server is not connected"));
            database.start(signal);
            await database.ready(signal);
            await database.lockAcquired(signal);
            readiness.met("ovsdb");
        },
        stop: () => database.close(),
    });
    // After the lock: a second agent on the Node must not take the socket of the first.
    lifecycle.append({ name: "cni-server", start: () => server.start(), stop: () => server.stop() });
    lifecycle.append({
        name: "pod-network",
        startTimeoutMs: patientMs,
        start: async (signal) => {
            const node = await ownNode({ informer: nodeInformer, environment, config, netlink, logger }, signal);
            readiness.met("node");
            nodeInformer.onChange((_type, _key, object) => {
                if (changedPodCidrs(object, node)) {
                    fail(
                        new AntreaError(
                            "POD_CIDR_CHANGED",
                            "environment",
                            "the podCIDRs of this Node changed; starting again with the new ones",
                        ),
                    );
                }
            });
            const gateway = new Gateway(
                { ports: bridge, netlink, logger: logger.child("gateway") },
                {
                    name: config.hostGateway,
                    ofPort: gatewayOfPort,
                    mtu: node.mtu,
                    podPrefixes: node.podPrefixes,
                    gatewayIps: node.gatewayIps,
                    disableTxChecksumOffload: offloadMustBeOff(config),
                },
            );
            await bridge.ensure(signal);
            await bridge.datapathId(60_000, signal);
            let gatewayPort = await gateway.ensurePort(signal);
            await gateway.ensureDevice(signal);

            const subnet = new NodeSubnet(node.podPrefixes, (size) =>
                BigInt(randomInt(Number(size < 65_536n ? size : 65_536n))),
            );
            const podNetwork = new PodNetwork(
                { ports: bridge, flowTable, netlink, subnet, logger: logger.child("pod-network") },
                {
                    mtu: node.mtu,
                    disableTxChecksumOffload: offloadMustBeOff(config),
                    gatewayMac: () => gateway.mac,
                    bootId: environment.bootId,
                    now: () => performance.now(),
                },
            );
            const reconciler = new PodReconciler(
                {
                    network: podNetwork,
                    netlink,
                    subnet,
                    ports: bridge,
                    pods: (limit) => podsOf(kube.api, environment.nodeName, limit),
                    logger: logger.child("reconcile"),
                },
                { bootId: environment.bootId, podPrefixes: node.podPrefixes },
            );
            await reconciler.rebuild(signal);
            const stageBase = (): ReturnType<typeof pipelineFlows> =>
                pipelineFlows({
                    families: node.podPrefixes.map((prefix) => prefix.family),
                    mode: "noEncap",
                    gateway: { ofPort: gatewayPort, mac: gateway.mac, ips: node.gatewayIps },
                    podPrefixes: node.podPrefixes,
                });
            flowTable.stage("pipeline", stageBase());
            const rounds = await bridge.beginRound(signal);
            flowTable.useRound(rounds.current);
            const firstReplay = Promise.withResolvers<void>();
            openflow.onReady(async (link) => {
                await flowTable.replay(link);
                readiness.met("openflow");
                firstReplay.resolve();
            });
            openflow.start(signal);
            await firstReplay.promise;
            network = podNetwork;
            await reconciler.restoreAll(signal);
            readiness.met("records");

            // Everything of this round is in: what earlier starts left can go.
            await flowTable.deleteRounds(rounds.earlier);
            await bridge.setExternalId(roundsKey, formatRounds({ current: rounds.current, earlier: [] }), signal);

            const ovs = jobs.every("ovs", resyncMs, async (limit) => {
                await bridge.ensure(limit);
                gatewayPort = await gateway.ensurePort(limit);
                await gateway.ensureDevice(limit);
                await flowTable.set("pipeline", stageBase(), limit);
                await flowTable.repair();
                await reconciler.reconcile(limit);
            });
            database.onConnect(() => {
                if (database.lockState === "locked") readiness.met("ovsdb");
                ovs.trigger();
            });
            database.onLockChange((state) => {
                if (state === "locked") readiness.met("ovsdb");
                else readiness.unmet("ovsdb", "another antrea-agent took the lock of this Node's OVS database");
                ovs.trigger();
            });
            openflow.onReady(() => ovs.trigger());

            const nodeObjects = (): readonly NodeObject[] => nodeInformer.list();
            const routes = new NodeRoutes(
                { netlink, logger: logger.child("node-routes"), nodes: nodeObjects },
                { nodeName: environment.nodeName, transportIndex: node.transport.index },
            );
            const masquerade = new Masquerade({ logger: logger.child("masquerade"), nft: runNft });
            const routing = jobs.every("node-routes", resyncMs, () => routes.reconcile());
            const masquerading = jobs.every("masquerade", resyncMs, () =>
                masquerade.reconcile({
                    podPrefixes: node.podPrefixes,
                    clusterPrefixes: allPodPrefixes(nodeObjects()),
                    gatewayName: config.hostGateway,
                    noSnat: config.noSNAT,
                    randomFully: config.snatFullyRandomPorts,
                }),
            );
            nodeInformer.onChange(() => {
                routing.trigger();
                masquerading.trigger();
            });
            jobs.every("conflist", resyncMs, () => conflist.write());
            declareMetrics(metrics, podNetwork, subnet, flowTable);
        },
        stop: async () => {
            if (await leavesForGood(kube.api, environment.podNamespace, logger)) {
                await conflist.remove();
                logger.info("the DaemonSet is gone: the CNI configuration is removed from this Node");
            }
            await openflow.close();
        },
    });
    lifecycle.append({ name: "jobs", start: (signal) => jobs.start(signal), stop: () => jobs.stop() });
    return lifecycle;
}

function offloadMustBeOff(config: AgentConfig): boolean {
    return config.disableTXChecksumOffload || config.ovsDatapathType === "netdev";
}

/** Waits for this Node's podCIDRs and finds its transport interface. */
async function ownNode(
    components: {
        readonly informer: Informer<Node>;
        readonly environment: AgentEnvironment;
        readonly config: AgentConfig;
        readonly netlink: Netlink;
        readonly logger: Logger;
    },
    signal: AbortSignal,
): Promise<NodeConfig> {
    const { informer, environment, config, netlink, logger } = components;
    await informer.synced(signal);
    let said = "";
    for (;;) {
        try {
            const node = informer.get(environment.nodeName);
            if (node === undefined)
                throw new AntreaError(
                    "NO_NODE",
                    "environment",
                    `the API server has no Node ${environment.nodeName} (NODE_NAME)`,
                );
            const podPrefixes = podPrefixesOf(node);
            const transport = findTransport({
                nodeName: environment.nodeName,
                nodeIps: internalIpsOf(node),
                links: await netlink.links(),
                addresses: await netlink.addresses(),
                gatewayName: config.hostGateway,
                transportInterface: config.transportInterface ?? "",
                transportInterfaceCidrs: config.transportInterfaceCIDRs,
            });
            return {
                name: environment.nodeName,
                podPrefixes,
                gatewayIps: podPrefixes.map(gatewayIpOf),
                transport: { name: transport.name, index: transport.index },
                mtu: config.defaultMTU === 0 ? transport.mtu : config.defaultMTU,
            };
        } catch (error) {
            if (messageOf(error) !== said) logger.warn("waiting for this Node", { reason: messageOf(error) });
            said = messageOf(error);
        }
        await new Promise((resolve) => setTimeout(resolve, 500));
        signal.throwIfAborted();
    }
}

function changedPodCidrs(object: Node, node: NodeConfig): boolean {
    if (object.metadata?.name !== node.name) return false;
    const texts = object.spec?.podCIDRs ?? [];
    return texts.length > 0 && texts.join() !== node.podPrefixes.map(formatPrefix).join();
}

/** A Node without what nobody here reads; a cluster may have thousands. */
function slimNode(node: Node): Node {
    const { name, uid, resourceVersion } = node.metadata ?? {};
    return {
        metadata: { ...(name && { name }), ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) },
        spec: {
            ...(node.spec?.podCIDR && { podCIDR: node.spec.podCIDR }),
            ...(node.spec?.podCIDRs && { podCIDRs: node.spec.podCIDRs }),
        },
        status: { ...(node.status?.addresses && { addresses: node.status.addresses }) },
    };
}

async function podsOf(api: ApiClient, nodeName: string, signal: AbortSignal): Promise<readonly KnownPod[]> {
    const { items } = await api.list(pods, { fieldSelector: `spec.nodeName=${nodeName}`, signal });
    return items.map((pod) => ({
        uid: pod.metadata?.uid ?? "",
        namespace: pod.metadata?.namespace ?? "",
        name: pod.metadata?.name ?? "",
        hostNetwork: pod.spec?.hostNetwork === true,
        podIps: (pod.status?.podIPs ?? []).flatMap(({ ip }) => (ip === undefined || ip === "" ? [] : [parseIp(ip)])),
    }));
}

async function podUidOf(api: ApiClient, namespace: string, name: string): Promise<string> {
    const pod = await api.find(pods, { namespace, name });
    return pod?.metadata?.uid ?? "";
}

/** True when the DaemonSet is being deleted: this agent will not come back. In doubt it stays. */
async function leavesForGood(api: ApiClient, namespace: string, logger: Logger): Promise<boolean> {
    try {
        const found = await api.find(daemonSets, { namespace, name: "antrea-agent" }, { timeoutMs: 2_000 });
        return found === undefined || found.metadata?.deletionTimestamp !== undefined;
    } catch (error) {
        logger.warn("cannot tell whether the DaemonSet is being deleted; the CNI configuration stays", {
            reason: messageOf(error),
        });
        return false;
    }
}

function observeCalls(metrics: Metrics): ObserveCall {
    const calls = metrics.counter({
        name: "antrea_agent_cni_calls_total",
        help: "CNI calls by command and outcome (OK or the name of the error code).",
        labelNames: ["command", "outcome"],
    });
    const durations = metrics.histogram({
        name: "antrea_agent_cni_call_duration_seconds",
        help: "How long CNI calls took in the agent.",
        labelNames: ["command"],
    });
    return (command, outcome, seconds) => {
        calls.inc({ command, outcome });
        durations.observe(seconds, { command });
    };
}

function declareMetrics(metrics: Metrics, network: PodNetwork, subnet: NodeSubnet, flowTable: FlowTable): void {
    metrics.gauge({
        name: "antrea_agent_local_pod_count",
        help: "Pod interfaces that this agent has wired.",
        collect: () => network.interfaces().length,
    });
    metrics.gauge({
        name: "antrea_agent_ovs_total_flow_count",
        help: "Flows that this agent wants in OVS.",
        collect: () => flowTable.size,
    });
    metrics.gauge({
        name: "antrea_agent_pod_cidr_addresses_used",
        help: "Addresses in use of each podCIDR of this Node.",
        labelNames: ["cidr"],
        collect: () =>
            subnet.usage().map(({ prefix, used }) => ({ labels: { cidr: formatPrefix(prefix) }, value: used })),
    });
}
