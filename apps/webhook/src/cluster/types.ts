import { type ApiClient, type KubeLogger } from "@antrea/kube";

export interface CacheComponents {
    readonly api: Pick<ApiClient, "list" | "watch">;
    readonly logger: KubeLogger;
}
