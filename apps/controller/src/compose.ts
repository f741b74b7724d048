import { Lifecycle, type MainContext } from "@antrea/runtime";
import { allocationCleaner } from "./features/allocation-cleaner/feature.ts";
import { nodeAddresses } from "./features/node-addresses/feature.ts";
import { nodeIpam } from "./features/node-ipam/feature.ts";
import { poolStatus } from "./features/pool-status/feature.ts";
import { reservations } from "./features/reservations/feature.ts";
import { type Feature, type Part } from "./platform/feature.ts";
import { leadership } from "./platform/leadership.ts";
import { buildPlatform, type Platform } from "./platform/platform.ts";
import { poolParts, withPools } from "./platform/pool-platform.ts";

/**
 * Builds antrea-controller from its configuration; the caller starts and stops the Lifecycle. Throws as `buildPlatform`
 * does.
 */
export function compose(context: MainContext): Lifecycle {
    return composeController(buildPlatform(context));
}

/**
 * Adds the controller's features to the platform, in start order, as their gates and keys enable them, and returns the
 * Lifecycle of all parts; starts nothing. The parts of every replica come first, then the election, under which the
 * features lead. Called once for a platform, whose metrics and health checks it extends.
 */
export function composeController(platform: Platform): Lifecycle {
    const { config, gates, health, logger, clock } = platform;
    const pools = gates.enabled("AntreaIPAM") ? withPools(platform) : undefined;
    const hasNodeIpam = config.nodeIPAM.enableNodeIPAM && gates.enabled("NodeIPAM");
    const features: readonly Feature[] = [
        hasNodeIpam ? nodeIpam(platform, pools) : undefined,
        pools && poolStatus(pools),
        pools && nodeAddresses(pools),
        pools && reservations(pools),
        pools && allocationCleaner(pools),
    ].filter((feature) => feature !== undefined);

    const lifecycle = new Lifecycle({ logger, clock });
    const parts: readonly Part[] = [
        ...groundParts(platform),
        ...(features.length > 0 ? [nodesPart(platform)] : []),
        ...(pools === undefined ? [] : poolParts(pools)),
        ...features.flatMap((feature) => feature.parts ?? []),
        leadership(platform, features),
    ];
    for (const part of parts) lifecycle.append(part);
    for (const { name, problem } of [...parts, ...features]) {
        if (problem !== undefined) health.addCheck(name, "ready", problem);
    }
    let started = false;
    health.addCheck("start", "ready", () =>
        started ? undefined : "the parts of antrea-controller are still starting",
    );
    lifecycle.append({ name: "started", start: () => void (started = true) });
    return lifecycle;
}

function groundParts({ kube, health, events }: Platform): readonly Part[] {
    return [
        { name: "kube-clients", stop: () => kube.close() },
        { name: "health", start: (signal) => health.start(signal), stop: () => health.stop() },
        { name: "events", start: (signal) => events.start(signal), stop: () => events.close() },
    ];
}

/** Every replica watches Nodes, so that a new leader starts immediately; only the leader writes. */
function nodesPart({ nodes }: Platform): Part {
    return {
        name: "nodes",
        start: (signal) => nodes.start(signal),
        stop: () => nodes.close(),
        problem: () => (nodes.hasSynced ? undefined : "Nodes are not listed yet"),
    };
}
