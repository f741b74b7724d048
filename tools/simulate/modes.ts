import { parsePrefix, type Prefix } from "@antrea/ip";
import { type Counters } from "./check/counters.ts";
import { clusterCidr } from "./cluster/controller.ts";
import { type Attacher } from "./cluster/network-objects.ts";
import { type Random } from "./time/random.ts";

/** The settings of a cluster. */
export interface Modes {
    /** All agents are in bridging mode. */
    readonly isBridged: boolean;
    /** The webhook's configuration of Node subnets. */
    readonly clusterCidrs: readonly Prefix[];
    readonly attacher: Attacher;
    /** The feature gate SecondaryNetwork is on, but for while users switch it off. */
    readonly usesNetworks: boolean;
    /** The same now, for programs that start. */
    hasNetworks: boolean;
}

const attachers = {
    nobody: 0.3,
    antrea: 0.4,
    "meta plugin": 0.3,
} as const satisfies Readonly<Record<Attacher, number>>;

/** Draws and counts the settings of a cluster. */
export function modesByChance(random: Random, counters: Counters): Modes {
    const isBridged = random.chance(0.4);
    const clusterCidrs = random.chance(0.5) ? [parsePrefix(clusterCidr)] : [];
    const attacher = attacherByChance(random);
    const usesNetworks = attacher === "antrea" || (attacher === "meta plugin" && random.chance(0.7));
    counters.count(isBridged ? "cluster.bridged" : "cluster.routed");
    counters.count(`cluster.networks.${attacher}`);
    return { isBridged, clusterCidrs, attacher, usesNetworks, hasNetworks: usesNetworks };
}

function attacherByChance(random: Random): Attacher {
    const drawn = random.next();
    if (drawn < attachers.nobody) return "nobody";
    return drawn < attachers.nobody + attachers.antrea ? "antrea" : "meta plugin";
}
