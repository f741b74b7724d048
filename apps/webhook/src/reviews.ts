import { type Prefix } from "@antrea/ip";
import { type ApiClient } from "@antrea/kube";
import { type Logger } from "@antrea/runtime";
import { ClusterCache } from "./cluster/index.ts";
import { WebhookError } from "./errors.ts";
import { AllocationReader, PoolReviewer } from "./ip-pools/index.ts";
import { allowed, type Reviewer, type ReviewRoute } from "./review/index.ts";
import { routesOf } from "./routes.ts";
import { WorkloadReviewer } from "./workloads/index.ts";

/** What the reviews depend on; the caller closes the client. */
export interface ReviewPlatform {
    readonly api: ApiClient;
    readonly logger: Logger;
    /** `nodeIPAM.clusterCIDRs`, whose addresses no pool may contain. */
    readonly clusterCidrs: readonly Prefix[];
    /**
     * Whether IPPool annotations are in effect (feature gate AntreaIPAM); otherwise none is refused. IPPools are
     * always validated.
     */
    readonly poolsOn: boolean;
}

/** The reviews of the webhook, and the caches that they need, whose `part` must be started. */
export interface Reviews {
    /** The caches; its `part` starts and stops them. */
    readonly cluster: ClusterCache;
    /** Their reviewers reject with WebhookError `NOT_READY` before the first lists are complete. */
    readonly routes: readonly ReviewRoute[];
}

/**
 * Builds what answers admission requests, without HTTP and certificates; starts nothing: the caller starts and stops
 * the `part` of `cluster`.
 */
export function composeReviews({ api, logger, clusterCidrs, poolsOn }: ReviewPlatform): Reviews {
    const cluster = new ClusterCache({ api, logger: logger.child("cluster") });
    const { pools, users, addresses } = cluster;
    const allocations = new AllocationReader({ api });
    const ipPools = new PoolReviewer({ pools, users, addresses, allocations, clusterCidrs });
    const { namespaces, pods, deployments, statefulSets } = users;
    const workloads = new WorkloadReviewer({ api, pools, namespaces, pods, deployments, statefulSets });
    const routes = routesOf({ ipPools, workloads }).map((route) => ({
        ...route,
        review:
            route.webhook === "workloads" && !poolsOn
                ? () => Promise.resolve(allowed)
                : whenSynced(cluster, route.review),
    }));
    return { cluster, routes };
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
