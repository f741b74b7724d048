import { readFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock, type Clock } from "@antrea/async";
import { macAnnotation, transportAnnotation } from "@antrea/crd";
import { AntreaError } from "@antrea/errors";
import { outOfServiceTaint } from "@antrea/ipam";
import {
    createKubeClients,
    EventRecorder,
    Informer,
    nodes,
    slimNode,
    TokenReviewAuthorizer,
    type KubeClients,
    type Node,
} from "@antrea/kube";
import { Netlink } from "@antrea/netlink";
import { OpenFlowConnection } from "@antrea/openflow/connection";
import { OvsdbSession } from "@antrea/ovsdb/session";
import { Jobs, Metrics, exportBuildInfo, type Logger, type MainContext, type MetricsFactory } from "@antrea/runtime";
import { DaemonServer, probePortFrom } from "@antrea/serving";
import { zoneLabel } from "@antrea/services";
import { loadAgentConfig, type AgentConfig } from "@antrea/settings";
import { buildReadiness } from "./agent-readiness.ts";
import { readEnvironment, type AgentEnvironment } from "./environment.ts";
import { formerJobNames } from "./former-job-names.ts";
import { nodeHost, type Host } from "./host/host.ts";
import { toBeDeletedTaint } from "./node/leaving.ts";
import {
    monitoredColumns,
    NicBridge,
    OvsBridge,
    ownSwitchBridges,
    SwitchBridge,
    type SwitchBridges,
} from "./ovs/bridge/index.ts";
import { datapathCondition, datapathOf, DatapathProbe, Unixctl, type Datapath } from "./ovs/datapath/index.ts";
import { FlowTable } from "./ovs/flow-table/index.ts";
import { PodInterfaces } from "./pod-interfaces/index.ts";
import type { Readiness } from "./readiness.ts";
import { version } from "./version.ts";

/**
 * How packets reach Pods of other Nodes, as configured (`trafficEncapMode`): in tunnels, by routes, or (`hybrid`) by
 * routes to Nodes in a subnet of the transport interface and in tunnels to all others.
 */
export type TrafficMode = "encap" | "noEncap" | "hybrid";

/**
 * The common base of the agent's features: what no feature owns, and what does not depend on podCIDRs. `buildPlatform`
 * makes it; the parts of compose/ start and close its connections.
 */
export interface Platform {
    readonly logger: Logger;
    readonly clock: Clock;
    /** Random numbers in [0, 1). */
    readonly random: () => number;
    /** Ends the process with this error: logs it, stops all parts, exits with code 1. Does not throw. */
    readonly fail: (error: unknown) => void;
    readonly config: AgentConfig;
    readonly gates: Pick<ReturnType<typeof loadAgentConfig>["gates"], "enabled">;
    readonly environment: AgentEnvironment;
    readonly mode: TrafficMode;
    readonly metrics: MetricsFactory;
    /** Serves /livez, /readyz and /metrics. */
    readonly health: Pick<DaemonServer, "addCheck" | "showJobs" | "start" | "stop">;
    /** The conditions that must be met before Pods can be wired. */
    readonly readiness: Readiness;
    readonly jobs: Jobs;
    readonly kube: Pick<KubeClients, "api" | "connection" | "close">;
    /** Records events of Kubernetes objects, with `antrea-agent` and the name of its Pod as reporter. */
    readonly events: Pick<EventRecorder, "record" | "start" | "close">;
    /** All Nodes of the cluster, reduced by slimNode. */
    readonly nodes: Informer<Node>;
    /** An open socket in the Node's network namespace. */
    readonly netlink: Netlink;
    /** The programs of the image and the kernel settings of the Node. */
    readonly host: Host;
    readonly database: Pick<
        OvsdbSession,
        | "start"
        | "close"
        | "ready"
        | "lockAcquired"
        | "lockState"
        | "problem"
        | "rows"
        | "until"
        | "onConnect"
        | "onDisconnect"
        | "onLockChange"
    >;
    readonly openflow: Pick<
        OpenFlowConnection,
        | "start"
        | "close"
        | "state"
        | "onReady"
        | "onPacketIn"
        | "packetOut"
        | "dumpFlows"
        | "countFlows"
        | "bundle"
        | "flushConnections"
    >;
    /** The bridge of the agent in OVSDB; usable when `database` is ready. */
    readonly bridge: Pick<OvsBridge, keyof OvsBridge>;
    /** The bridges of networks other than the Pod network. */
    readonly switchBridges: SwitchBridges;
    /** The desired flows of all features; sends them by `openflow`. */
    readonly flowTable: Pick<FlowTable, keyof FlowTable>;
    readonly datapath: Datapath;
    /** Runs commands of ovs-vswitchd. */
    readonly vswitchd: Pick<Unixctl, "request">;
    /** Checks the datapath of the bridge; sets the readiness condition `datapath`. */
    readonly probe: Pick<DatapathProbe, "passed">;
    /** The Pod interfaces of this Node; written by Pod wiring. */
    readonly podInterfaces: PodInterfaces;
}

const eventDelayMs = 500;
/** The longest answer of ovs-vswitchd that is read: about 400,000 connections. */
const maxAnswerBytes = 64 << 20;

/**
 * Time limit in milliseconds (one day) of waits at startup for OVS, the API server or a podCIDR: in effect none, since
 * the log reports what is missing.
 */
export const patientMs = 24 * 3_600_000;

/**
 * The conditions for wiring Pods, by name, with the problem reported until each is met. Features add further ones with
 * `Readiness.unmet`.
 */
export const conditions: Readonly<Record<string, string>> = {
    ovsdb: "ovsdb-server is not connected, or another antrea-agent runs on this Node",
    node: "the Node's podCIDRs are not known",
    openflow: "ovs-vswitchd is not connected",
    records: "the Pod interfaces of this Node are not rebuilt",
    [datapathCondition]: "the datapath of OVS was not checked",
};

/**
 * Builds the platform from the configuration file (flag `config`, default /etc/antrea/antrea-agent.conf) and logs its
 * warnings. Connects to nothing; only the netlink socket is open. Throws SettingsError, EnvironmentError, ModeError,
 * KubeError `BAD_CONFIG`, ServingError `BAD_PORT` (PROBE_PORT), NetlinkError, or the error of node:fs for a file that
 * cannot be read.
 */
export function buildPlatform({ logger, flags, fail }: MainContext): Platform {
    const configPath = flags.config ?? "/etc/antrea/antrea-agent.conf";
    const { config, warnings, gates } = loadAgentConfig(readFileSync(configPath, "utf8"));
    for (const warning of warnings) logger.warn("configuration accepted with a warning", { warning });
    const clock = systemClock;
    const datapath = datapathOf(config.ovsDatapathType);
    const vswitchd = new Unixctl({ runDir: config.ovsRunDir, maxAnswerBytes });
    const mode = modeOf(config);
    logger.info("feature gates", { gates: gates.list("agent").map(({ name, status }) => `${name}=${status}`) });
    const environment = readEnvironment(configPath, process.env);
    const kube = createKubeClients({
        userAgent: "antrea-agent",
        apiServerOverride: config.kubeAPIServerOverride,
        kubeconfig: config.clientConnection.kubeconfig,
    });
    const metrics = new Metrics();
    exportBuildInfo(metrics, "antrea-agent", version);
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
            ...(config.tlsCipherSuites !== undefined && { ciphers: config.tlsCipherSuites }),
            ...(config.tlsMinVersion !== undefined && { minVersion: config.tlsMinVersion }),
        },
    );
    const jobs = new Jobs({ logger: logger.child("jobs"), clock, metrics, formerNames: formerJobNames });
    health.showJobs(jobs);
    const readiness = buildReadiness(
        { api: kube.api, health, jobs, metrics, openflow, clock, logger: logger.child("kube") },
        conditions,
    );
    return {
        logger,
        clock,
        random: Math.random,
        fail,
        config,
        gates,
        environment,
        mode,
        metrics,
        health,
        readiness,
        jobs,
        kube,
        events: new EventRecorder(
            { api: kube.api, clock, logger: logger.child("events") },
            {
                reportingController: "antrea-agent",
                reportingInstance: environment.podName,
                delayMs: eventDelayMs,
            },
        ),
        nodes: nodesOf({ api: kube.api, clock, logger }),
        netlink: Netlink.open(),
        host: nodeHost,
        database,
        openflow,
        bridge: new OvsBridge({ database }, { bridge: config.ovsBridge, datapathType: config.ovsDatapathType }),
        switchBridges: {
            names: () => ownSwitchBridges(database),
            of: (options) => new SwitchBridge({ database }, { ...options, datapathType: config.ovsDatapathType }),
            nic: (nic) => new NicBridge({ database }, { nic, datapathType: config.ovsDatapathType }),
            connection: (name) =>
                new OpenFlowConnection(
                    { logger: logger.child("openflow") },
                    { socketPath: join(config.ovsRunDir, `${name}.mgmt`) },
                ),
        },
        flowTable: new FlowTable({ link: openflow, logger: logger.child("flows") }),
        datapath,
        podInterfaces: new PodInterfaces(),
        vswitchd,
        probe: new DatapathProbe(
            { control: vswitchd, readiness, clock, logger: logger.child("datapath") },
            { bridge: config.ovsBridge, datapath },
        ),
    };
}

/**
 * The informer of all Nodes of the cluster, reduced by `slimNode` to what the agent reads: with the label of
 * the zone, the annotations of transport addresses and MAC, and the taints of Nodes that are out of service or about to be deleted.
 * The caller starts and closes it.
 */
export function nodesOf({
    api,
    clock,
    logger,
}: {
    readonly api: KubeClients["api"];
    readonly clock: Clock;
    readonly logger: Logger;
}): Informer<Node> {
    const kept = {
        labels: [zoneLabel],
        annotations: [transportAnnotation, macAnnotation],
        taints: [outOfServiceTaint, toBeDeletedTaint],
    };
    const transform = (node: Node): Node => slimNode(node, kept);
    return new Informer({ api, clock, logger: logger.child("nodes") }, { resource: nodes, transform });
}

class ModeError extends AntreaError<"MODE_NOT_AVAILABLE"> {}

/** The traffic mode of the configuration. Throws ModeError `MODE_NOT_AVAILABLE` for networkPolicyOnly. */
export function modeOf({ trafficEncapMode }: AgentConfig): TrafficMode {
    if (trafficEncapMode !== "networkPolicyOnly") return trafficEncapMode;
    throw new ModeError("MODE_NOT_AVAILABLE", "unsupported", `trafficEncapMode ${trafficEncapMode} is not available`);
}
