import type { IpAddress, Prefix } from "@antrea/ip";
import type { Feature } from "../../platform/feature.ts";
import { changesPodCidrs } from "../../platform/node/node-changes.ts";
import type { NodePlatform } from "../../platform/node-platform.ts";
import { reporting } from "../../platform/reporting.ts";
import { Masquerade } from "./masquerade.ts";
import type { MasqueradeInput } from "./ruleset.ts";

const resyncMs = 60_000;

/** The inputs of masquerading from bridging mode. */
export interface BridgedSources {
    readonly serviceSources: NonNullable<MasqueradeInput["bridging"]>["serviceSources"];
    /** The current addresses of Pods with a VLAN. */
    readonly taggedPods: () => readonly IpAddress[];
    /** Registers a listener, for good, that is called when `taggedPods` may have changed. */
    readonly onTaggedChange: (listener: () => void) => void;
}

/**
 * Masquerades traffic of Pods to other networks: a job sets the rules every minute and on changes of podCIDRs and of
 * Pods with a VLAN; the readiness check `masquerade` reports why it cannot. The rules stay when the agent stops.
 */
export function masquerade(
    platform: Pick<
        NodePlatform,
        "config" | "gates" | "health" | "host" | "jobs" | "logger" | "mode" | "node" | "nodes"
    >,
    others: {
        /** The current podCIDRs of all Nodes. */
        readonly clusterPrefixes: () => readonly Prefix[];
        readonly bridging: BridgedSources | undefined;
    },
): Feature {
    const { config, gates, health, host, jobs, logger, mode, node, nodes } = platform;
    const { bridging, clusterPrefixes } = others;
    const inputNow = (): MasqueradeInput => ({
        podPrefixes: node.podPrefixes,
        // Includes our own podCIDRs while the Node object is being recreated.
        clusterPrefixes: [...node.podPrefixes, ...clusterPrefixes()],
        gatewayName: config.hostGateway,
        noSnat: config.noSNAT,
        randomFully: config.snatFullyRandomPorts,
        poolPods: gates.enabled("AntreaIPAM") && bridging === undefined,
        tunnelSources: mode === "noEncap" ? [] : node.gatewayIps,
        bridging: bridging && { serviceSources: bridging.serviceSources, taggedPods: bridging.taggedPods() },
    });
    const start = (): void => {
        // Reported only: Pods without external connectivity can still reach each other, so Pods are wired nevertheless.
        let problem: string | undefined;
        health.addCheck("masquerade", "ready", () => problem);
        const rules = new Masquerade({
            generation: host.rulesGeneration,
            logger: logger.child("masquerade"),
            nft: host.nft,
        });
        // While the Nodes are not synced, the rules of an earlier start are kept.
        const job = jobs.every("masquerade", resyncMs, async (limit) => {
            await nodes.synced(limit);
            const input = inputNow();
            const what = "traffic of Pods to other networks is not masqueraded";
            await reporting({ what, report: (text) => (problem = text) }, () => rules.reconcile(input));
        });
        bridging?.onTaggedChange(() => job.trigger());
        nodes.onChange((type, _name, object, old) => {
            if (changesPodCidrs(type, object, old)) job.trigger();
        });
    };
    return { name: "masquerade", start };
}
