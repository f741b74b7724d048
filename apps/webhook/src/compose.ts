import { createKubeClients, TokenReviewAuthorizer, type ApiClient } from "@antrea/kube";
import {
    exportBuildInfo,
    Lifecycle,
    Metrics,
    type LifecyclePart,
    type Logger,
    type MainContext,
} from "@antrea/runtime";
import { DaemonServer, probePortFrom } from "@antrea/serving";
import { CertificateKeeper } from "@antrea/serving/certificates";
import { apiServerOf, portOf, settingsOf } from "./flags.ts";
import { type WebhookOptions } from "./options.ts";
import { reviewApp, reviewMetrics } from "./review/index.ts";
import { composeReviews } from "./reviews.ts";
import { version } from "./version.ts";

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
