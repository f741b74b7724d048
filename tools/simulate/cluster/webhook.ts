import { type Prefix } from "@antrea/ip";
import { type Logger } from "@antrea/runtime";
import { type AdmissionRequest, type Decision } from "@antrea/webhook/review";
import { composeReviews, type Reviews } from "@antrea/webhook/reviews";
import { SimulationError } from "../error.ts";
import { type Transport } from "../api/transport.ts";
import { type Write } from "../api/rules.ts";

export interface WebhookComponents {
    readonly transport: Transport;
    readonly logger: Logger;
    /** `nodeIPAM.clusterCIDRs`. */
    readonly clusterCidrs: readonly Prefix[];
    /** The feature gate SecondaryNetwork. */
    readonly hasNetworks: boolean;
}

/** One start of antrea-webhook: its own reviews and caches, called without HTTP. */
export class Webhook {
    readonly #transport: Transport;
    readonly #stop = new AbortController();
    readonly #reviews: Reviews;

    constructor({ transport, logger, clusterCidrs, hasNetworks: networksOn }: WebhookComponents) {
        this.#transport = transport;
        this.#reviews = composeReviews({ api: transport.api, logger, clusterCidrs, poolsOn: true, networksOn });
        void this.#reviews.cluster.part.start?.(this.#stop.signal);
    }

    /** The response to an AdmissionReview; rejects if there is none. */
    async review(write: Write, signal: AbortSignal): Promise<Decision> {
        const { kind, name, namespace, operation, before, after, subresource: subResource } = write;
        const route = this.#reviews.routes.find(({ kinds }) => kinds.includes(kind.resource.kind));
        if (this.#transport.isDead || route === undefined)
            throw new SimulationError("NOT_READY", "environment", "not ready");
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
