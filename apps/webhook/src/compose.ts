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
    tellBuild,
} from "@antrea/runtime";
import { DaemonServer, probePortFrom } from "@antrea/serving";
import { CertificateKeeper, type CertificateTimes } from "@antrea/serving/certificates";
import { loadControllerConfig } from "@antrea/settings";
import { ClusterCache } from "./cluster/index.ts";
import { WebhookError } from "./errors.ts";
import { ClaimReader, PoolReviewer } from "./ip-pools/index.ts";
import { allowed, reviewApp, reviewMetrics, type Reviewer } from "./review/index.ts";
import { routesOf } from "./routes.ts";
import { version } from "./version.ts";
import { WorkloadReviewer } from "./workloads/index.ts";

/** Settings are few, and all of them are flags; of antrea-controller.conf it reads the feature gates and clusterCIDRs. */
export const flags: OwnFlags = {
    config: "FILE",
    port: "N",
    kubeconfig: "FILE",
    "kube-apiserver": "ADDRESS",
};

const defaultPort = 9443;
// One API server asks about several hundred requests at once at most; each takes a connection then.
const maxConnections = 1_000;
// One alone does not keep the other API servers out.
const maxConnectionsPerAddress = 600;
// Longer than the API server keeps idle connections (90 s): whoever sends closes first, so that no request is lost to a
// connection that is being closed.
const keepAliveMs = 600_000;
// How long Endpoints and kube-proxy may take to send requests elsewhere.
const leaveMs = 3_000;
// Requests under way end by their own time limit.
const drainMs = 12_000;

/** Builds the parts of antrea-webhook and hands them to each other; starts nothing. */
export function compose({ flags: given, logger }: MainContext): Lifecycle {
    const clients = createKubeClients({
        kubeconfig: given.own.kubeconfig,
        apiServerOverride: given.own["kube-apiserver"],
        userAgent: `antrea-webhook/${version}`,
    });
    const namespace = process.env.POD_NAMESPACE ?? clients.namespace ?? "kube-system";
    const { poolsOn, clusterCidrs } = settingsOf(given.config);
    if (!poolsOn) logger.info("AntreaIPAM is off: annotations of IPPools have no effect, and all of them are allowed");
    const { parts } = webhook(
        { api: clients.api, logger },
        {
            namespace,
            poolsOn,
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

export interface WebhookOptions {
    /** Where the Secret of the authority and the Service lie. */
    readonly namespace: string;
    readonly port: number;
    /** `nodeIPAM.clusterCIDRs`, of which no pool may have addresses. Default none. */
    readonly clusterCidrs?: readonly Prefix[];
    /** Of 127.0.0.1, for probes. Default: none. */
    readonly probePort?: number | undefined;
    /**
     * Whether annotations of IPPools have an effect (gate AntreaIPAM); where they have none, none is refused. IPPools
     * themselves are judged always. Default true.
     */
    readonly poolsOn?: boolean;
    /** Default: those of the certificates. */
    readonly times?: CertificateTimes;
    /** How long it answers on after it said that it is not ready any more. Default 3,000. */
    readonly leaveMs?: number;
}

/** One replica of the webhook: its parts in the order in which they start. */
export function webhook(
    { api, logger }: { readonly api: ApiClient; readonly logger: Logger },
    options: WebhookOptions,
): { readonly parts: readonly LifecyclePart[]; readonly health: DaemonServer } {
    const metrics = new Metrics();
    tellBuild(metrics, "antrea-webhook", version);
    const cluster = new ClusterCache({ api, logger: logger.child("cluster") });
    const { pools, users, addresses } = cluster;
    const ipPools = new PoolReviewer({
        pools,
        users,
        addresses,
        claims: new ClaimReader({ api }),
        clusterCidrs: options.clusterCidrs ?? [],
    });
    const { namespaces, pods, deployments, statefulSets } = users;
    const workloads = new WorkloadReviewer({ api, pools, namespaces, pods, deployments, statefulSets });
    const app = reviewApp(
        { logger: logger.child("review"), metrics: reviewMetrics(metrics) },
        routesOf({ ipPools, workloads }).map((route) => ({
            ...route,
            review:
                route.webhook === "workloads" && options.poolsOn === false
                    ? () => Promise.resolve(allowed)
                    : whenSynced(cluster, route.review),
        })),
    );
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

function whenSynced(cluster: Pick<ClusterCache, "hasSynced">, review: Reviewer): Reviewer {
    return async (request, signal) => {
        if (cluster.hasSynced) return review(request, signal);
        throw new WebhookError(
            "NOT_READY",
            "environment",
            "antrea-webhook has just started and does not know the cluster yet",
        );
    };
}

/** Stops first: says that it is not ready, answers on until nobody comes any more, and lets the last requests end. */
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

/** What antrea-controller.conf says to the webhook; without the file pools are on, and no cluster CIDRs are known. */
function settingsOf(path: string | undefined): Required<Pick<WebhookOptions, "poolsOn" | "clusterCidrs">> {
    if (path === undefined) return { poolsOn: true, clusterCidrs: [] };
    let text: string;
    try {
        text = readFileSync(path, "utf8");
    } catch (cause) {
        throw new WebhookError("BAD_FLAG", "environment", `cannot read --config ${path}`, { cause });
    }
    const { config, gates } = loadControllerConfig(text);
    const { enableNodeIPAM, clusterCIDRs } = config.nodeIPAM;
    const isGiving = enableNodeIPAM && gates.enabled("NodeIPAM");
    return { poolsOn: gates.enabled("AntreaIPAM"), clusterCidrs: isGiving ? clusterCIDRs : [] };
}

function portOf(text: string | undefined): number {
    if (text === undefined) return defaultPort;
    if (/^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535) return Number(text);
    throw new WebhookError("BAD_FLAG", "caller", `--port ${JSON.stringify(text)}: must be a number from 1 to 65535`);
}
