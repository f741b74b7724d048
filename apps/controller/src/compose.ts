import { readFileSync } from "node:fs";
import { AntreaError } from "@antrea/errors";
import {
    EventRecorder,
    Informer,
    LeaderElection,
    TokenReviewAuthorizer,
    createKubeClients,
    nodes as nodeResource,
    type ApiClient,
    type Node,
} from "@antrea/kube";
import { Lifecycle, Metrics, type Logger, type MainContext, tellBuild } from "@antrea/runtime";
import { DaemonServer, type Certificate } from "@antrea/serving";
import { loadControllerConfig, type ControllerConfig, type TlsVersion } from "@antrea/settings";
import { ClaimBook, ClaimWriter, reclaimMetrics } from "./claims/index.ts";
import { ClaimCleaner } from "./claim-cleaner/index.ts";
import { identityFrom } from "./identity.ts";
import { IpPools } from "./ip-pools/index.ts";
import { leadership, type Leader } from "./leadership.ts";
import { NodeIpam, PoolAddresses } from "./node-ipam/index.ts";
import { slimNode } from "./nodes.ts";
import { PoolBook } from "./pools/index.ts";
import { Reservations, SetBook } from "./reservations/index.ts";
import { version } from "./version.ts";

/** The configuration file or the certificate cannot be read. */
class ControllerError extends AntreaError<"CONFIG_UNREADABLE" | "CERTIFICATE_UNREADABLE"> {}

const certificateFolder = "/var/run/antrea/antrea-controller-tls";

/** Builds the parts of antrea-controller and hands them to each other; starts nothing. */
export function compose({ flags, logger }: MainContext): Lifecycle {
    const { config, warnings, gates } = loadControllerConfig(readConfig(flags.config));
    for (const warning of warnings) logger.warn("configuration", { warning });
    logger.info("feature gates", { gates: gates.list("controller").map(({ name, status }) => `${name}=${status}`) });

    const clients = createKubeClients({
        kubeconfig: config.clientConnection.kubeconfig,
        apiServerOverride: config.kubeAPIServerOverride,
        userAgent: `antrea-controller/${version}`,
    });
    const { api } = clients;
    const identity = identityFrom(process.env, clients.namespace);
    const metrics = new Metrics();
    tellBuild(metrics, "antrea-controller", version);
    const authorizer = new TokenReviewAuthorizer({ api }, { path: "/metrics" });
    const health = new DaemonServer(
        {
            logger: logger.child("health"),
            metrics: config.enablePrometheusMetrics ? metrics : undefined,
            authorize: authorizer.authorize,
        },
        {
            name: "antrea-controller",
            port: config.apiPort,
            // During an update the earlier process on this Node has the port, and answers there: it must not answer the
            // probes of this one, and ends when this one is ready.
            waitsForPort: true,
            probeSocket: process.env["PROBE_SOCKET"],
            ...tls(config),
        },
    );
    const recorder = new EventRecorder(
        { api, logger: logger.child("events") },
        { reportingController: "antrea-controller", reportingInstance: identity.instance },
    );
    const election = new LeaderElection(
        { api, logger: logger.child("leader-election") },
        {
            namespace: identity.namespace,
            name: config.leaderElection.resourceName,
            identity: identity.leader,
            leaseDurationMs: config.leaderElection.leaseDuration,
            renewDeadlineMs: config.leaderElection.renewDeadline,
            retryPeriodMs: config.leaderElection.retryPeriod,
        },
    );

    const lifecycle = new Lifecycle({ logger });
    const leaders: Leader[] = [];
    lifecycle.append({ name: "kube-clients", stop: () => clients.close() });
    lifecycle.append({ name: "health", start: (signal) => health.start(signal), stop: () => health.stop() });
    lifecycle.append({ name: "events", start: (signal) => recorder.start(signal), stop: () => recorder.close() });
    const nodeIpamOn = config.nodeIPAM.enableNodeIPAM && gates.enabled("NodeIPAM");
    const poolsOn = gates.enabled("AntreaIPAM");
    // Every replica watches, so that a new leader begins at once; only the leader writes.
    const nodes = new Informer<Node>(
        { api, logger: logger.child("nodes") },
        { resource: nodeResource, transform: slimNode },
    );
    if (nodeIpamOn || poolsOn) {
        lifecycle.append({ name: "nodes", start: (signal) => nodes.start(signal), stop: () => nodes.close() });
        health.addCheck("nodes", "ready", () => (nodes.hasSynced ? undefined : "Nodes are not listed yet"));
    }
    const pools = poolsOn
        ? composePools({ api, nodes, recorder, metrics, health, lifecycle, logger }, config)
        : undefined;
    if (nodeIpamOn) {
        const poolAddresses = pools && new PoolAddresses({ api, ...pools.books, logger: logger.child("node-ipam") });
        const nodeIpam = new NodeIpam(
            { api, nodes, recorder, metrics, poolAddresses, logger: logger.child("node-ipam") },
            {
                settings: nodeIpamSettings(config),
                namespace: identity.namespace,
                identity: identity.leader,
            },
        );
        health.addCheck("node-ipam", "ready", () => nodeIpam.problem);
        leaders.push((signal) => nodeIpam.lead(signal));
    }
    leaders.push(...(pools?.leaders ?? []));
    lifecycle.append(leadership({ election, metrics }, leaders));
    let started = false;
    health.addCheck("start", "ready", () =>
        started ? undefined : "the parts of antrea-controller are still starting",
    );
    lifecycle.append({ name: "started", start: () => void (started = true) });
    return lifecycle;
}

interface PoolComponents {
    readonly api: ApiClient;
    readonly nodes: Informer<Node>;
    readonly recorder: EventRecorder;
    readonly metrics: Metrics;
    readonly health: DaemonServer;
    readonly lifecycle: Lifecycle;
    readonly logger: Logger;
}

/** The parts behind the gate AntreaIPAM. */
function composePools(
    { logger, health, lifecycle, ...common }: PoolComponents,
    config: ControllerConfig,
): { readonly leaders: readonly Leader[]; readonly books: { readonly claims: ClaimBook; readonly pools: PoolBook } } {
    const { api, nodes, metrics } = common;
    const books = {
        claims: new ClaimBook({ api, logger: logger.child("claims") }),
        pools: new PoolBook({ api, nodes, logger: logger.child("ip-pools") }),
        sets: new SetBook({ api, logger: logger.child("stateful-sets") }),
    };
    for (const book of Object.values(books)) {
        lifecycle.append(book.part);
        health.addCheck(book.part.name, "ready", () => (book.hasSynced ? undefined : "they are not listed yet"));
    }
    const writer = new ClaimWriter({ api });
    const reclaims = reclaimMetrics(metrics);
    const shared = { ...common, ...books, writer, reclaims };
    const { cleanInterval: intervalMs } = config.ipam;
    const ipPools = new IpPools({ ...shared, logger: logger.child("ip-pools") }, { intervalMs });
    // Of each term its own: what was learned in an earlier one may be wrong by now.
    const leaders: readonly Leader[] = [
        (signal) => ipPools.tell(signal),
        (signal) => ipPools.hold(signal),
        (signal) => new Reservations({ ...shared, logger: logger.child("reservations") }, { intervalMs }).run(signal),
        (signal) => new ClaimCleaner({ ...shared, logger: logger.child("claim-cleaner") }, { intervalMs }).run(signal),
    ];
    return { leaders, books };
}

function readConfig(path: string | undefined): string {
    if (path === undefined) return "";
    try {
        return readFileSync(path, "utf8");
    } catch (cause) {
        throw new ControllerError("CONFIG_UNREADABLE", "environment", `cannot read --config ${path}`, { cause });
    }
}

function nodeIpamSettings({ nodeIPAM }: ControllerConfig): ConstructorParameters<typeof NodeIpam>[1]["settings"] {
    const maskSizes = { 4: nodeIPAM.nodeCIDRMaskSizeIPv4, 6: nodeIPAM.nodeCIDRMaskSizeIPv6 };
    const services = [nodeIPAM.serviceCIDR, nodeIPAM.serviceCIDRv6];
    return {
        clusters: nodeIPAM.clusterCIDRs.map((prefix) => ({ prefix, nodeMaskSize: maskSizes[prefix.family] })),
        serviceCidrs: services.filter((prefix) => prefix !== undefined),
    };
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
