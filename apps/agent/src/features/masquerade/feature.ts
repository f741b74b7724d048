import type { IpAddress, Prefix } from "@antrea/ip";
import type { Job } from "@antrea/runtime";
import { changesPodCidrs } from "../../platform/node/slim-node.ts";
import type { NodeConfig } from "../../platform/node/config/index.ts";
import type { Platform } from "../../platform/platform.ts";
import { reporting } from "../../platform/reporting.ts";
import { Masquerade } from "./masquerade.ts";
import type { MasqueradeInput } from "./ruleset.ts";

const resyncMs = 60_000;

/** What bridging mode has to say to masquerading. */
export interface BridgedSources {
    readonly serviceSources: NonNullable<MasqueradeInput["bridging"]>["serviceSources"];
    /** The addresses of Pods with a VLAN, now. */
    readonly taggedPods: () => readonly IpAddress[];
    readonly onTaggedChange: (listener: () => void) => void;
}

/** Masquerading follows the Node objects, and Pods with a VLAN. */
export function addMasqueradeJob(
    { config, gates, health, host, jobs, logger, mode, nodes }: Platform,
    node: NodeConfig,
    o: {
        /** The podCIDRs of all Nodes, now. */
        readonly clusterPrefixes: () => readonly Prefix[];
        readonly bridging: BridgedSources | undefined;
    },
): Job {
    const { bridging } = o;
    // Pods without a way to the outside still have one to each other: this keeps none from being wired.
    let problem: string | undefined;
    health.addCheck("masquerade", "ready", () => problem);
    const masquerade = new Masquerade({ logger: logger.child("masquerade"), nft: host.nft });
    // Without the Nodes, while the API server is away, what an earlier start set stays as it is.
    const job = jobs.every("masquerade", resyncMs, async (limit) => {
        await nodes.synced(limit);
        const input = {
            podPrefixes: node.podPrefixes,
            // Our own too while the Node object is gone and comes again.
            clusterPrefixes: [...node.podPrefixes, ...o.clusterPrefixes()],
            gatewayName: config.hostGateway,
            noSnat: config.noSNAT,
            randomFully: config.snatFullyRandomPorts,
            poolPods: gates.enabled("AntreaIPAM") && bridging === undefined,
            tunnelSources: mode === "noEncap" ? [] : node.gatewayIps,
            bridging: bridging && {
                serviceSources: bridging.serviceSources,
                taggedPods: bridging.taggedPods(),
            },
        };
        const what = "traffic of Pods to other networks is not masqueraded";
        await reporting({ what, report: (text) => (problem = text) }, () => masquerade.reconcile(input));
    });
    bridging?.onTaggedChange(() => job.trigger());
    nodes.onChange((type, _name, object, old) => {
        if (changesPodCidrs(type, object, old)) job.trigger();
    });
    return job;
}
