import { type ApiClient, type KubeLogger } from "@antrea/kube";

/** What the caches of the webhook depend on: `api` lists and watches, for their informers. */
export interface CacheComponents {
    readonly api: Pick<ApiClient, "list" | "watch">;
    readonly logger: KubeLogger;
}
