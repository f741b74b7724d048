import { ipPools, type IpPool } from "@antrea/crd";
import {
    formatPrefix,
    formatRangeSet,
    prefixRange,
    RangeSet,
    type IpAddress,
    type IpRange,
    type Prefix,
} from "@antrea/ip";
import { clusterAddresses, podCidrTexts } from "@antrea/ipam";
import { nodes, referenceTo, type EventRecorder, type Informer, type Node } from "@antrea/kube";
import { maxSubnetsOfNode, type ReleasedAllocations } from "./allocation-holds.ts";
import { addressesText, obstaclesText, type Obstacles } from "./obstacles.ts";
import { type PodCidrProblems } from "./types.ts";

const action = "AllocatePodCIDR";

/**
 * Reports problems of NodeIPAM that need an operator, as Warning events of Nodes and IPPools. Problems of podCIDRs and
 * pools are reported once per change, as long as the object lives, the others at each call. No method throws.
 */
export class Reports {
    readonly #recorder: Pick<EventRecorder, "record">;
    readonly #nodes: Pick<Informer<Node>, "list">;
    readonly #clusters: RangeSet;
    readonly #reported = new Map<string, string>();

    constructor(
        components: {
            readonly recorder: Pick<EventRecorder, "record">;
            readonly nodes: Pick<Informer<Node>, "list">;
        },
        options: { readonly clusters: readonly Prefix[] },
    ) {
        this.#recorder = components.recorder;
        this.#nodes = components.nodes;
        this.#clusters = RangeSet.of(options.clusters.map(prefixRange));
    }

    /**
     * Reports on the pool, as `InClusterCIDR`, that its ranges or gateways are in the subnets for Nodes; nothing if
     * none is.
     */
    poolInside(pool: IpPool, ranges: readonly IpRange[], gateways: readonly IpAddress[]): void {
        const { name, uid } = pool.metadata ?? {};
        const written = RangeSet.of(ranges).intersect(this.#clusters);
        const routers = RangeSet.ofAddresses(gateways).intersect(this.#clusters).subtract(written);
        const inside = written.union(routers);
        const what = [
            ...(written.isEmpty ? [] : [formatRangeSet(written)]),
            ...(routers.isEmpty ? [] : [`gateway ${formatRangeSet(routers)}`]),
        ].join(" and ");
        const key = `pool ${name}`;
        const signature = `${uid} ${what}`;
        if (inside.isEmpty || this.#reported.get(key) === signature) return;
        this.#reported.set(key, signature);
        const owners = this.#nodes.list().flatMap((node) =>
            clusterAddresses([node])
                .podCidrs.filter((cidr) => !inside.intersect(RangeSet.of([prefixRange(cidr)])).isEmpty)
                .map((cidr) => `Node ${node.metadata?.name} has ${formatPrefix(cidr)}`),
        );
        const shown = owners.slice(0, 3).join(", ") + (owners.length > 3 ? ` and ${owners.length - 3} more` : "");
        const already = owners.length === 0 ? "" : ` ${shown} already: the pool does not hand out addresses of it.`;
        this.#recorder.record({
            regarding: referenceTo(ipPools, pool),
            type: "Warning",
            reason: "InClusterCIDR",
            action,
            note: `${what} of IPPool ${name} is in nodeIPAM.clusterCIDRs: Nodes get no subnet that has any of it.${already} Use addresses and gateways outside nodeIPAM.clusterCIDRs.`,
        });
    }

    /** Reports on the Node, as `CIDRNotAvailable`, that no subnet of these prefixes is free, and what is in the way. */
    exhausted(node: Node, clusters: readonly Prefix[], obstacles?: Obstacles): void {
        const list = clusters.map(formatPrefix).join(" and ");
        this.#warn(
            node,
            "CIDRNotAvailable",
            `No Pod CIDR can be assigned: no subnet of ${list} is free; those of Nodes deleted in the last ten minutes, and those that have addresses of IPPools, are not given.${obstaclesText(obstacles)} Remove Nodes or enlarge nodeIPAM.clusterCIDRs; it is tried again.`,
        );
    }

    /**
     * Reports on the Node, as `ClaimsOutsidePools`, that its allocations no longer hold subnets; nothing if it does not
     * exist.
     */
    released({ node: name, ghosts, excess }: ReleasedAllocations): void {
        const node = this.#nodes.list().find(({ metadata }) => metadata?.name === name);
        if (node === undefined) return;
        const which = [
            ...(ghosts.length > 0 ? [`of Pods that are not on this Node: ${addressesText(ghosts)}`] : []),
            ...(excess.length > 0
                ? [`of Pods on it, in more than ${maxSubnetsOfNode} subnets: ${addressesText(excess)}`]
                : []),
        ];
        this.#warn(
            node,
            "ClaimsOutsidePools",
            `IPAllocations of this Node have addresses of nodeIPAM.clusterCIDRs that no IPPool contains, and no longer keep a subnet from other Nodes: ${which.join("; ")}. Only antrea-agent of this Node, or a holder of its token, creates them: check the Node, and delete those that no Pod uses.`,
        );
    }

    /**
     * Reports on the Node what is wrong with its podCIDRs, once per change: `PodCIDRDuplicate`,
     * `PodCIDROutsideClusterCIDR`, `PodCIDRFamilyMissing`.
     */
    problems(node: Node, { duplicates, foreign, missing }: PodCidrProblems): void {
        const name = node.metadata?.name ?? "";
        const signature = JSON.stringify([node.metadata?.uid, duplicates, foreign, missing]);
        if (this.#reported.get(name) === signature) return;
        this.#reported.set(name, signature);
        const cidrs = podCidrTexts(node).join(", ");
        if (duplicates.length > 0) {
            const shown = duplicates.slice(0, 5).join(", ") + (duplicates.length > 5 ? " and others" : "");
            this.#warn(
                node,
                "PodCIDRDuplicate",
                `The Pod CIDRs ${cidrs} overlap those of Node ${shown}. Pods of these Nodes may get the same address: remove one of the Nodes and register it anew.`,
            );
        }
        if (foreign.length > 0) {
            this.#warn(
                node,
                "PodCIDROutsideClusterCIDR",
                `The Pod CIDRs ${foreign.join(", ")} are no subnets of nodeIPAM.clusterCIDRs of the configured size. They are kept and not given to other Nodes.`,
            );
        }
        if (missing.length > 0) {
            const families = missing.map((family) => `IPv${family}`).join(" and ");
            this.#warn(
                node,
                "PodCIDRFamilyMissing",
                `The Node has Pod CIDRs ${cidrs} but none of ${families}, which nodeIPAM.clusterCIDRs has. Pod CIDRs cannot be changed: remove the Node and register it anew.`,
            );
        }
    }

    /** Forgets what was reported of a deleted Node. */
    forget(name: string): void {
        this.#reported.delete(name);
    }

    #warn(node: Node, reason: string, note: string): void {
        this.#recorder.record({ regarding: referenceTo(nodes, node), type: "Warning", reason, action, note });
    }
}
