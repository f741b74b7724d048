import { type Prefix } from "@antrea/ip";
import { type ApiClient } from "@antrea/kube";
import { type Logger } from "@antrea/runtime";
import { ClusterCache } from "./cluster/index.ts";
import { WebhookError } from "./errors.ts";
import { AllocationReader, PoolReviewer } from "./ip-pools/index.ts";
import { NetworkReviewer, NetworkUsers } from "./networks/index.ts";
import { type Reviewer, type ReviewRoute } from "./review/index.ts";
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
    /**
     * Whether Antrea attaches networks (feature gate SecondaryNetwork); otherwise the annotation of Pods that requests
     * them is that of other plugins, whose grammar may be another, and none is refused. Networks are always reviewed.
     */
    readonly networksOn: boolean;
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
export function composeReviews({ api, logger, clusterCidrs, poolsOn, networksOn }: ReviewPlatform): Reviews {
    const cluster = new ClusterCache({ api, logger: logger.child("cluster") });
    const { pools, users, addresses } = cluster;
    const allocations = new AllocationReader({ api });
    const networkUsers = new NetworkUsers({ api });
    const ipPools = new PoolReviewer({ pools, users, networks: networkUsers, addresses, allocations, clusterCidrs });
    const { namespaces, pods, deployments, statefulSets } = users;
    const workloads = poolsOn
        ? new WorkloadReviewer({ api, pools, namespaces, pods, deployments, statefulSets })
        : undefined;
    const networks = new NetworkReviewer({ pools });
    const routes = routesOf({ ipPools, workloads, networks, reviewsSelections: networksOn }).map((route) => ({
        ...route,
        // Without pools, workloads are reviewed by what they have themselves.
        review: route.webhook === "workloads" && !poolsOn ? route.review : whenSynced(cluster, route.review),
    }));
    return { cluster, routes };
}

function whenSynced(cluster: Pick<ClusterCache, "hasSynced">, review: Reviewer): Reviewer {
    return async (request, signal) => {
        if (cluster.hasSynced) return review(request, signal);
        throw new WebhookError(
            "NOT_READY",
            "environment",
            "antrea-webhook has just started and has not listed the cluster yet",
        );
    };
}
