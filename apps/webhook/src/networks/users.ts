import { isKubeError, keyOf, networkAttachmentDefinitions, type ApiClient } from "@antrea/kube";
import { takesFromPool, type NamedPool } from "@antrea/networks";

/**
 * Finds the networks that take addresses of a pool. They are listed at each call, not watched: the
 * CustomResourceDefinition is not of this project and may be missing, and a watch of it would never be in sync.
 */
export class NetworkUsers {
    readonly #api: Pick<ApiClient, "pages">;

    constructor(components: { readonly api: Pick<ApiClient, "pages"> }) {
        this.#api = components.api;
    }

    /**
     * The networks that take addresses of the pool, for messages: `NetworkAttachmentDefinition a/vlan100`. None without
     * the CustomResourceDefinition. Rejects with KubeError.
     */
    async of(pool: NamedPool, signal: AbortSignal): Promise<readonly string[]> {
        const found: string[] = [];
        try {
            for await (const { items } of this.#api.pages(networkAttachmentDefinitions, { signal })) {
                for (const network of items) {
                    if (takesFromPool(network.spec?.config ?? "", pool)) {
                        found.push(`NetworkAttachmentDefinition ${keyOf(network)}`);
                    }
                }
            }
        } catch (error) {
            if (!isKubeError(error, "NOT_FOUND")) throw error;
        }
        return found;
    }
}
