import { type ApiClient, type KubeLogger } from "@antrea/kube";

export interface BookComponents {
    readonly api: Pick<ApiClient, "list" | "watch">;
    readonly logger: KubeLogger;
}
