import { readFileSync } from "node:fs";
import { systemClock, type Clock } from "@antrea/async";
import { AntreaError } from "@antrea/errors";
import {
    createKubeClients,
    EventRecorder,
    type Informer,
    LeaderElection,
    TokenReviewAuthorizer,
    type KubeClients,
    type LeaderElectionComponents,
    type Node,
} from "@antrea/kube";
import { Metrics, exportBuildInfo, type Logger, type MainContext, type MetricsFactory } from "@antrea/runtime";
import { DaemonServer, type Certificate } from "@antrea/serving";
import { loadControllerConfig, type ControllerConfig, type TlsVersion } from "@antrea/settings";
import { identityFrom, type Identity } from "./identity.ts";
import { LeaderJobs } from "./leader-jobs.ts";
import { nodesOf } from "./nodes.ts";
import { version } from "./version.ts";

/** What all features of the controller share; made by `buildPlatform`. The parts of compose.ts start and close it. */
export interface Platform {
    readonly logger: Logger;
    readonly clock: Clock;
    readonly config: ControllerConfig;
    /** The feature gates of the configuration. */
    readonly gates: Pick<ReturnType<typeof loadControllerConfig>["gates"], "enabled">;
    readonly identity: Identity;
    readonly metrics: MetricsFactory;
    /** Lists the jobs and work queues of the features with their last result, in `/readyz?verbose`. */
    readonly jobs: Pick<LeaderJobs, "show">;
    /** The HTTP server of /livez, /readyz and /metrics. */
    readonly health: Pick<DaemonServer, "addCheck" | "start" | "stop">;
    readonly kube: Pick<KubeClients, "api" | "close">;
    /** Records events of Kubernetes objects, with `antrea-controller` and its Pod as reporter. */
    readonly events: Pick<EventRecorder, "record" | "start" | "close">;
    /** Decides which replica writes. */
    readonly election: Pick<LeaderElection, "leading" | "run">;
    /** All Nodes of the cluster, reduced by `slimNode`. */
    readonly nodes: Informer<Node>;
    /** Cooling time of a deleted Node's subnet, in milliseconds. Default: that of NodeIPAM, 10 min. */
    readonly subnetCoolingMs?: number;
}

/** The configuration file or the certificate cannot be read. */
class ControllerError extends AntreaError<"CONFIG_UNREADABLE" | "CERTIFICATE_UNREADABLE"> {}

const certificateFolder = "/var/run/antrea/antrea-controller-tls";

/**
 * Builds the platform from the configuration file (flag `config`; without it all keys have their defaults) and logs its
 * warnings; starts nothing. Throws ControllerError `CONFIG_UNREADABLE` or `CERTIFICATE_UNREADABLE`, SettingsError, or
 * KubeError `BAD_CONFIG`.
 */
export function buildPlatform({ flags, logger }: MainContext): Platform {
    const { config, warnings, gates } = loadControllerConfig(readConfig(flags.config));
    for (const warning of warnings) logger.warn("configuration accepted with a warning", { warning });
    logger.info("feature gates", { gates: gates.list("controller").map(({ name, status }) => `${name}=${status}`) });
    const kube = createKubeClients({
        kubeconfig: config.clientConnection.kubeconfig,
        apiServerOverride: config.kubeAPIServerOverride,
        userAgent: `antrea-controller/${version}`,
    });
    const { api } = kube;
    const clock = systemClock;
    const identity = identityFrom(process.env, kube.namespace);
    const metrics = new Metrics();
    exportBuildInfo(metrics, "antrea-controller", version);
    const jobs = new LeaderJobs();
    const health = healthOf(config, { logger, metrics, kube });
    health.showJobs(jobs);
    return {
        logger,
        clock,
        config,
        gates,
        identity,
        metrics,
        jobs,
        health,
        kube,
        events: new EventRecorder(
            { api, clock, logger: logger.child("events") },
            { reportingController: "antrea-controller", reportingInstance: identity.instance },
        ),
        election: electionOf({ api, clock, logger }, config, identity),
        nodes: nodesOf({ api, clock, logger }),
    };
}

/**
 * Returns the leader election by the lease that the configuration names (`leaderElection`), with its times, in the
 * namespace of this process. It reads and writes nothing until `leadership` runs it.
 */
export function electionOf(
    {
        api,
        clock,
        logger,
    }: { readonly api: LeaderElectionComponents["api"]; readonly clock: Clock; readonly logger: Logger },
    { leaderElection }: ControllerConfig,
    identity: Identity,
): LeaderElection {
    return new LeaderElection(
        { api, clock, logger: logger.child("leader-election") },
        {
            namespace: identity.namespace,
            name: leaderElection.resourceName,
            identity: identity.leader,
            leaseDurationMs: leaderElection.leaseDuration,
            renewDeadlineMs: leaderElection.renewDeadline,
            retryPeriodMs: leaderElection.retryPeriod,
        },
    );
}

function healthOf(
    config: ControllerConfig,
    { logger, metrics, kube }: { readonly logger: Logger; readonly metrics: Metrics; readonly kube: KubeClients },
): DaemonServer {
    return new DaemonServer(
        {
            logger: logger.child("health"),
            metrics: config.enablePrometheusMetrics ? metrics : undefined,
            authorize: new TokenReviewAuthorizer({ api: kube.api }, { path: "/metrics" }).authorize,
        },
        {
            name: "antrea-controller",
            port: config.apiPort,
            // During an update the previous process on this Node has the port and answers on it: it must not answer the
            // probes of this one, and ends when this one is ready.
            waitsForPort: true,
            probeSocket: process.env["PROBE_SOCKET"],
            ...tls(config),
        },
    );
}

function readConfig(path: string | undefined): string {
    if (path === undefined) return "";
    try {
        return readFileSync(path, "utf8");
    } catch (cause) {
        throw new ControllerError("CONFIG_UNREADABLE", "environment", `cannot read --config ${path}`, { cause });
    }
}

function tls(config: ControllerConfig): {
    readonly certificate?: Certificate;
    readonly ciphers?: string;
    readonly minVersion?: TlsVersion;
} {
    return {
        ...(config.tlsCipherSuites !== undefined && { ciphers: config.tlsCipherSuites }),
        ...(config.tlsMinVersion !== undefined && { minVersion: config.tlsMinVersion }),
        ...(!config.selfSignedCert && { certificate: mountedCertificate() }),
    };
}

function mountedCertificate(): Certificate {
    try {
        const read = (name: string): string => readFileSync(`${certificateFolder}/${name}`, "utf8");
        return { cert: read("tls.crt"), key: read("tls.key") };
    } catch (cause) {
        throw new ControllerError(
            "CERTIFICATE_UNREADABLE",
            "environment",
            `selfSignedCert is false, but ${certificateFolder} has no readable tls.crt and tls.key: create Secret antrea-controller-tls with both, beside antrea-controller, or set selfSignedCert to true`,
            { cause },
        );
    }
}
