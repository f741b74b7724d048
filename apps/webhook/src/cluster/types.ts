import { type ApiClient, type KubeLogger } from "@antrea/kube";

/** What the caches depend on. */
export interface CacheComponents {
    readonly api: Pick<ApiClient, "list" | "watch">;
    readonly logger: KubeLogger;
}
