import { Lifecycle, type LifecyclePart, type MainContext } from "@antrea/runtime";
import { type ControllerConfig } from "@antrea/settings";
import { ClaimCache, ClaimWriter, reclaimMetrics } from "./claims/index.ts";
import { ClaimCleaner } from "./claim-cleaner/index.ts";
import { IpPools } from "./ip-pools/index.ts";
import { leadership, type Leader } from "./leadership.ts";
import { NodeIpam, PoolAddresses, type NodeIpamSettings } from "./node-ipam/index.ts";
import { buildPlatform, type Platform } from "./platform.ts";
import { PoolCache } from "./pools/index.ts";
import { Reservations, SetCache } from "./reservations/index.ts";

/** Builds antrea-controller from its configuration; starts nothing. */
export function compose(context: MainContext): Lifecycle {
    return composeController(buildPlatform(context));
}

/** Puts the features of the controller on the platform, in the order in which they start; starts nothing. */
export function composeController(platform: Platform): Lifecycle {
    const { kube, clock, config, gates, identity, metrics, health, events, election, nodes, logger } = platform;
    const { api } = kube;
    const nodeIpamOn = config.nodeIPAM.enableNodeIPAM && gates.enabled("NodeIPAM");
    const poolsOn = gates.enabled("AntreaIPAM");
    const parts: LifecyclePart[] = [
        { name: "kube-clients", stop: () => kube.close() },
        { name: "health", start: (signal) => health.start(signal), stop: () => health.stop() },
        { name: "events", start: (signal) => events.start(signal), stop: () => events.close() },
    ];
    // Every replica watches, so that a new leader begins at once; only the leader writes.
    if (nodeIpamOn || poolsOn) {
        parts.push({ name: "nodes", start: (signal) => nodes.start(signal), stop: () => nodes.close() });
        health.addCheck("nodes", "ready", () => (nodes.hasSynced ? undefined : "Nodes are not listed yet"));
    }
    const leaders: Leader[] = [];
    const pools = poolsOn ? composePools(platform) : undefined;
    parts.push(...(pools?.parts ?? []));
    if (nodeIpamOn) {
        const poolAddresses =
            pools && new PoolAddresses({ api, clock, ...pools.books, logger: logger.child("node-ipam") });
        const nodeIpam = new NodeIpam(
            { api, nodes, recorder: events, metrics, poolAddresses, clock, logger: logger.child("node-ipam") },
            {
                settings: nodeIpamSettings(config, platform.subnetCoolingMs),
                namespace: identity.namespace,
                identity: identity.leader,
            },
        );
        health.addCheck("node-ipam", "ready", () => nodeIpam.problem);
        leaders.push((signal) => nodeIpam.lead(signal));
    }
    leaders.push(...(pools?.leaders ?? []));
    parts.push(leadership({ election, metrics }, leaders));
    let started = false;
    health.addCheck("start", "ready", () =>
        started ? undefined : "the parts of antrea-controller are still starting",
    );
    parts.push({ name: "started", start: () => void (started = true) });
    const lifecycle = new Lifecycle({ logger, clock });
    for (const part of parts) lifecycle.append(part);
    return lifecycle;
}

interface PoolParts {
    readonly parts: readonly LifecyclePart[];
    readonly leaders: readonly Leader[];
    readonly books: { readonly claims: ClaimCache; readonly pools: PoolCache };
}

/** The parts behind the gate AntreaIPAM. */
function composePools({ kube, clock, config, metrics, health, events, nodes, logger }: Platform): PoolParts {
    const { api } = kube;
    const books = {
        claims: new ClaimCache({ api, clock, logger: logger.child("claims") }),
        pools: new PoolCache({ api, nodes, clock, logger: logger.child("ip-pools") }),
        sets: new SetCache({ api, clock, logger: logger.child("stateful-sets") }),
    };
    const parts = Object.values(books).map((book) => {
        health.addCheck(book.part.name, "ready", () => (book.hasSynced ? undefined : "they are not listed yet"));
        return book.part;
    });
    const writer = new ClaimWriter({ api });
    const reclaims = reclaimMetrics(metrics);
    const shared = { api, nodes, recorder: events, metrics, clock, ...books, writer, reclaims };
    const { cleanInterval: intervalMs } = config.ipam;
    const ipPools = new IpPools({ ...shared, logger: logger.child("ip-pools") }, { intervalMs });
    // Of each term its own: what was learned in an earlier one may be wrong by now.
    const leaders: readonly Leader[] = [
        (signal) => ipPools.tell(signal),
        (signal) => ipPools.hold(signal),
        (signal) => new Reservations({ ...shared, logger: logger.child("reservations") }, { intervalMs }).run(signal),
        (signal) => new ClaimCleaner({ ...shared, logger: logger.child("claim-cleaner") }, { intervalMs }).run(signal),
    ];
    return { parts, leaders, books };
}

function nodeIpamSettings({ nodeIPAM }: ControllerConfig, coolingMs: number | undefined): NodeIpamSettings {
    const maskSizes = { 4: nodeIPAM.nodeCIDRMaskSizeIPv4, 6: nodeIPAM.nodeCIDRMaskSizeIPv6 };
    const services = [nodeIPAM.serviceCIDR, nodeIPAM.serviceCIDRv6];
    return {
        clusters: nodeIPAM.clusterCIDRs.map((prefix) => ({ prefix, nodeMaskSize: maskSizes[prefix.family] })),
        serviceCidrs: services.filter((prefix) => prefix !== undefined),
        ...(coolingMs !== undefined && { coolingMs }),
    };
}
