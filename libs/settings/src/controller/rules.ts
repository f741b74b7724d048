import {
    addressInPrefix,
    formatPrefix,
    prefixesOverlap,
    specialUse,
    unroutedUse,
    type Family,
    type SpecialUse,
} from "@antrea/ip";
import { declared } from "../condition.ts";
import { type Notice, type Rule } from "../load.ts";
import { controllerUnserved, unservedNotices } from "../unserved.ts";
import { type ControllerConfig, controllerSchema } from "./schema.ts";

/**
 * Limit, by IP family, of the difference between the prefix lengths of the podCIDRs and of their cluster CIDR: two to
 * this power is the most podCIDRs that can be tracked.
 */
export const maxIndexBits: Readonly<Record<Family, number>> = { 4: 22, 6: 16 };

/**
 * Address blocks of both families that must not overlap cluster CIDRs: addresses that no host can have, and those that
 * no other network reaches (RFC 6890; `specialUse` and `unroutedUse` of @antrea/ip).
 */
export const noPodCidr: readonly SpecialUse[] = [...specialUse, ...unroutedUse];

/** True if this controller assigns podCIDRs to Nodes. */
function nodeIpamOn(config: ControllerConfig, gates: { enabled(name: "NodeIPAM"): boolean }): boolean {
    return config.nodeIPAM.enableNodeIPAM && gates.enabled("NodeIPAM");
}

const cidrKey = "nodeIPAM.clusterCIDRs";
const gateKeys = ["featureGates", "nodeIPAM.enableNodeIPAM", cidrKey];

function maskRule(family: Family): Rule<ControllerConfig> {
    const name = `nodeCIDRMaskSizeIPv${family}` as const;
    const key = `nodeIPAM.${name}`;
    return {
        keys: [...gateKeys, key],
        check: (config, gates) => {
            const cluster = config.nodeIPAM.clusterCIDRs.find((prefix) => prefix.family === family);
            if (!nodeIpamOn(config, gates) || cluster === undefined) return undefined;
            const bits = config.nodeIPAM[name] - cluster.length;
            if (bits < 0) return { key, rule: `must be at least ${cluster.length}, the length of the cluster CIDR` };
            const maxBits = maxIndexBits[family];
            if (bits <= maxBits) return undefined;
            const most = cluster.length + maxBits;
            return { key, rule: `must be at most ${most}, ${maxBits} more than the length of the cluster CIDR` };
        },
    };
}

/**
 * Rules of antrea-controller.conf over several values, in the order of evaluation; those made by `declared` also serve
 * the chart, see `declaredRules`.
 */
export const controllerRules: readonly Rule<ControllerConfig>[] = [
    declared({
        key: cidrKey,
        rule: "must have at least one CIDR when nodeIPAM.enableNodeIPAM is true",
        wrongWhen: { all: [{ is: ["nodeIPAM.enableNodeIPAM", true] }, { gate: "NodeIPAM" }, { empty: cidrKey }] },
    }),
    {
        keys: [cidrKey],
        check: ({ nodeIPAM }) => {
            const families = nodeIPAM.clusterCIDRs.map(({ family }) => family);
            if (new Set(families).size === families.length) return undefined;
            return { key: cidrKey, rule: "must have at most one IPv4 and one IPv6 CIDR" };
        },
    },
    {
        keys: gateKeys,
        check: (config, gates) => {
            if (!nodeIpamOn(config, gates)) return undefined;
            const special = config.nodeIPAM.clusterCIDRs.flatMap((cluster) =>
                noPodCidr.filter(({ prefix }) => prefixesOverlap(prefix, cluster)),
            )[0];
            return special && { key: cidrKey, rule: `must not hold ${special.name} (${formatPrefix(special.prefix)})` };
        },
    },
    maskRule(4),
    maskRule(6),
    {
        keys: ["leaderElection.leaseDuration", "leaderElection.renewDeadline"],
        check: ({ leaderElection }) =>
            leaderElection.leaseDuration > leaderElection.renewDeadline
                ? undefined
                : { key: "leaderElection.leaseDuration", rule: "must be longer than leaderElection.renewDeadline" },
    },
    {
        keys: ["leaderElection.renewDeadline", "leaderElection.retryPeriod"],
        check: ({ leaderElection }) =>
            // The intervals between tries have up to a fifth of jitter.
            leaderElection.renewDeadline > leaderElection.retryPeriod * 1.2
                ? undefined
                : {
                      key: "leaderElection.renewDeadline",
                      rule: "must be longer than 1.2 times leaderElection.retryPeriod",
                  },
    },
];

/** Warnings about values of antrea-controller.conf that are valid but have no effect, or are interpreted. */
export const controllerNotices: readonly Notice<ControllerConfig>[] = [
    {
        check: (config, gates) =>
            config.nodeIPAM.enableNodeIPAM && !gates.enabled("NodeIPAM")
                ? "nodeIPAM.enableNodeIPAM has no effect: featureGates.NodeIPAM is off"
                : undefined,
    },
    {
        check: (_config, _gates, given) => {
            const masked = ((given(cidrKey) ?? []) as readonly string[])
                .map((text) => ({ text, ...addressInPrefix(text) }))
                .filter(({ ip, prefix }) => ip.value !== prefix.base)
                .map(
                    ({ text, prefix }) =>
                        `${text} has bits set behind its prefix length and is taken as ${formatPrefix(prefix)}`,
                );
            return masked.length === 0 ? undefined : `${cidrKey}: ${masked.join("; ")}`;
        },
    },
    ...unservedNotices<ControllerConfig>(controllerSchema, controllerUnserved),
];
