import { type Prefix } from "@antrea/ip";
import { type Logger } from "@antrea/runtime";
import { ClusterCache } from "@antrea/webhook/cluster";
import { AllocationReader, PoolReviewer } from "@antrea/webhook/ip-pools";
import { type AdmissionRequest, type Decision } from "@antrea/webhook/review";
import { routesOf } from "@antrea/webhook/routes";
import { WorkloadReviewer } from "@antrea/webhook/workloads";
import { type Transport } from "../api/transport.ts";
import { type Write } from "../api/rules.ts";

export interface WebhookComponents {
    readonly transport: Transport;
    readonly logger: Logger;
    /** `nodeIPAM.clusterCIDRs`. */
    readonly clusterCidrs: readonly Prefix[];
}

/** One start of antrea-webhook: its reviewers, called without HTTP. */
export class Webhook {
    readonly #transport: Transport;
    readonly #stop = new AbortController();
    readonly #cluster: ClusterCache;
    readonly #routes: ReturnType<typeof routesOf>;

    constructor({ transport, logger, clusterCidrs }: WebhookComponents) {
        this.#transport = transport;
        const { api } = transport;
        const cluster = new ClusterCache({ api, logger: logger.child("cluster") });
        this.#cluster = cluster;
        const { pools, users, addresses } = cluster;
        const ipPools = new PoolReviewer({
            pools,
            users,
            addresses,
            allocations: new AllocationReader({ api }),
            clusterCidrs,
        });
        const { namespaces, pods, deployments, statefulSets } = users;
        const workloads = new WorkloadReviewer({ api, pools, namespaces, pods, deployments, statefulSets });
        this.#routes = routesOf({ ipPools, workloads });
        void cluster.part.start?.(this.#stop.signal);
    }

    /** The response to an AdmissionReview; rejects if there is none. */
    async review(write: Write, signal: AbortSignal): Promise<Decision> {
        const { kind, name, namespace, operation, before, after, subresource: subResource } = write;
        const route = this.#routes.find(({ kinds }) => kinds.includes(kind.resource.kind));
        if (this.#transport.isDead || route === undefined || !this.#cluster.hasSynced) throw new Error("not ready");
        const request = {
            uid: "",
            kind: kind.resource.kind,
            apiVersion: kind.apiVersion,
            resource: kind.resource.plural,
            subResource,
            name,
            namespace,
            operation,
            object: after,
            oldObject: before,
            dryRun: false,
        };
        return route.review(request as unknown as AdmissionRequest, signal);
    }

    kill(): void {
        this.#transport.kill();
        this.#stop.abort();
    }
}
