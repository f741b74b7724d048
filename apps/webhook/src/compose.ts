import { readFileSync } from "node:fs";
import { type Prefix } from "@antrea/ip";
import { createKubeClients, TokenReviewAuthorizer, type ApiClient } from "@antrea/kube";
import {
    Lifecycle,
    Metrics,
    type LifecyclePart,
    type Logger,
    type MainContext,
    type OwnFlags,
    exportBuildInfo,
} from "@antrea/runtime";
import { DaemonServer, probePortFrom } from "@antrea/serving";
import { CertificateKeeper, type CertificateTimes } from "@antrea/serving/certificates";
import { apiServer, loadControllerConfig } from "@antrea/settings";
import { WebhookError } from "./errors.ts";
import { reviewApp, reviewMetrics } from "./review/index.ts";
import { composeReviews } from "./reviews.ts";
import { version } from "./version.ts";

/**
 * The flags of antrea-webhook for `runMain`, with the placeholder of each value in --help: all its settings. Of
 * antrea-controller.conf (--config) it reads the feature gates and clusterCIDRs.
 */
export const flags: OwnFlags = {
    config: "FILE",
    port: "N",
    kubeconfig: "FILE",
    "kube-apiserver": "ADDRESS",
};

const defaultPort = 9443;
// One API server sends at most several hundred concurrent requests, each on its own connection.
const maxConnections = 1_000;
// One API server cannot exhaust the connections of the others.
const maxConnectionsPerAddress = 600;
// Longer than the API server keeps idle connections (90 s): the client closes first, so that no request is lost on a
// connection that is being closed.
const keepAliveMs = 600_000;
// How long Endpoints and kube-proxy may take to redirect requests.
const leaveMs = 3_000;
// Requests in progress end by their own timeout.
const drainMs = 12_000;

/**
 * Builds and connects the parts of antrea-webhook; starts nothing: the caller starts and stops the Lifecycle. Throws
 * WebhookError `BAD_FLAG`, SettingsError for the file of --config, ServingError `BAD_PORT` (PROBE_PORT), or KubeError
 * `BAD_CONFIG`.
 */
export function compose({ flags: given, logger }: MainContext): Lifecycle {
    const clients = createKubeClients({
        kubeconfig: given.own.kubeconfig,
        apiServerOverride: apiServerOf(given.own["kube-apiserver"]),
        userAgent: `antrea-webhook/${version}`,
    });
    const namespace = process.env.POD_NAMESPACE ?? clients.namespace ?? "kube-system";
    const { poolsOn, networksOn, clusterCidrs } = settingsOf(given.config);
    if (!poolsOn) logger.info("AntreaIPAM is off: annotations of IPPools have no effect, and all of them are allowed");
    if (!networksOn)
        logger.info("SecondaryNetwork is off: annotations that request networks are left to other plugins");
    const { parts } = webhook(
        { api: clients.api, logger },
        {
            namespace,
            poolsOn,
            networksOn,
            port: portOf(given.own.port),
            probePort: probePortFrom(process.env),
            clusterCidrs,
        },
    );
    const lifecycle = new Lifecycle({ logger });
    lifecycle.append({ name: "kube-clients", stop: () => clients.close() });
    for (const part of parts) lifecycle.append(part);
    return lifecycle;
}

/** Options of one replica of the webhook. */
export interface WebhookOptions {
    /** Namespace of the CA's Secret and of the Service. */
    readonly namespace: string;
    /** HTTPS port of webhooks, probes and metrics. */
    readonly port: number;
    /** `nodeIPAM.clusterCIDRs`, whose addresses no pool may contain. Default none. */
    readonly clusterCidrs?: readonly Prefix[];
    /** Port on 127.0.0.1 for probes. Default: none. */
    readonly probePort?: number | undefined;
    /**
     * Whether IPPool annotations are in effect (feature gate AntreaIPAM); otherwise none is refused. IPPools are
     * always validated. Default true.
     */
    readonly poolsOn?: boolean;
    /**
     * Whether Antrea attaches networks (feature gate SecondaryNetwork); otherwise no annotation that requests networks
     * is refused. Networks are always reviewed. Default false.
     */
    readonly networksOn?: boolean;
    /** Lifetimes and intervals of certificates, in milliseconds. Default: those of CertificateKeeper. */
    readonly times?: CertificateTimes;
    /** How long it keeps serving after it reports not ready, in milliseconds. Default 3,000. */
    readonly leaveMs?: number;
}

/**
 * One replica of the webhook: its parts, to be started in this order and stopped in reverse, and the server of
 * webhooks, probes and metrics, which the parts start and stop. Starts nothing. The last part stops first, and drains
 * the requests.
 */
export function webhook(
    { api, logger }: { readonly api: ApiClient; readonly logger: Logger },
    options: WebhookOptions,
): { readonly parts: readonly LifecyclePart[]; readonly health: DaemonServer } {
    const metrics = new Metrics();
    exportBuildInfo(metrics, "antrea-webhook", version);
    const { cluster, routes } = composeReviews({
        api,
        logger,
        clusterCidrs: options.clusterCidrs ?? [],
        poolsOn: options.poolsOn ?? true,
        networksOn: options.networksOn ?? false,
    });
    const app = reviewApp({ logger: logger.child("review"), metrics: reviewMetrics(metrics) }, routes);
    const authorizer = new TokenReviewAuthorizer({ api }, { path: "/metrics" });
    const health = new DaemonServer(
        { logger: logger.child("server"), metrics, authorize: authorizer.authorize, handle: app },
        {
            name: "antrea-webhook",
            port: options.port,
            probePort: options.probePort,
            maxConnections,
            maxConnectionsPerAddress,
            keepAliveMs,
        },
    );
    const certificates = new CertificateKeeper(
        { api, logger: logger.child("certificates"), metrics, show: (certificate) => health.show(certificate) },
        {
            namespace: options.namespace,
            service: "antrea-webhook",
            secret: "antrea-webhook-ca",
            configuration: "antrea",
            ...(options.times !== undefined && { times: options.times }),
        },
    );
    health.addCheck("cluster", "ready", () => (cluster.hasSynced ? undefined : "the first lists are not in yet"));
    health.addCheck("certificates", "ready", () => certificates.problem());
    health.showJobs(certificates);
    const parts: readonly LifecyclePart[] = [
        { name: "server", start: (signal) => health.start(signal), stop: () => health.stop() },
        cluster.part,
        certificates.part,
        leaving(health, options.leaveMs ?? leaveMs),
    ];
    return { parts, health };
}

/**
 * Stops first: reports not ready, keeps serving for `ms`, and drains the remaining requests. It is not the `preStop` of the
 * part `server`, which would also wait when a later part did not start.
 */
function leaving(health: DaemonServer, ms: number): LifecyclePart {
    return {
        name: "leaving",
        stopTimeoutMs: ms + drainMs + 1_000,
        stop: async () => {
            health.addCheck("leaving", "ready", () => "the process is being stopped");
            await health.drain({ leaveMs: ms, limitMs: drainMs });
        },
    };
}

/**
 * The webhook's settings in antrea-controller.conf; without the file pools are enabled, networks are not, and there are no
 * cluster CIDRs. The file has all feature gates, also those of the agent: the chart writes one list into both files.
 */
function settingsOf(
    path: string | undefined,
): Required<Pick<WebhookOptions, "poolsOn" | "networksOn" | "clusterCidrs">> {
    if (path === undefined) return { poolsOn: true, networksOn: false, clusterCidrs: [] };
    let text: string;
    try {
        text = readFileSync(path, "utf8");
    } catch (cause) {
        throw new WebhookError("BAD_FLAG", "environment", `cannot read --config ${path}`, { cause });
    }
    const { config, gates } = loadControllerConfig(text);
    const { enableNodeIPAM, clusterCIDRs } = config.nodeIPAM;
    const isGiving = enableNodeIPAM && gates.enabled("NodeIPAM");
    return {
        poolsOn: gates.enabled("AntreaIPAM"),
        networksOn: gates.enabled("SecondaryNetwork"),
        clusterCidrs: isGiving ? clusterCIDRs : [],
    };
}

function portOf(text: string | undefined): number {
    if (text === undefined) return defaultPort;
    if (/^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535) return Number(text);
    throw new WebhookError("BAD_FLAG", "caller", `--port ${JSON.stringify(text)}: must be a number from 1 to 65535`);
}

/** The same texts as kubeAPIServerOverride in antrea-controller.conf. */
function apiServerOf(text = ""): string | undefined {
    const read = apiServer.safeParse(text);
    if (read.success) return read.data;
    const rule = read.error.issues[0]?.message ?? "";
    throw new WebhookError("BAD_FLAG", "caller", `--kube-apiserver ${JSON.stringify(text)}: ${rule}`);
}
