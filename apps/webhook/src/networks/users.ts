import { isKubeError, keyOf, networkAttachmentDefinitions, type ApiClient } from "@antrea/kube";
import { type RangeSet } from "@antrea/ip";
import { hasStaticAddress, takesFromPool, type NamedPool } from "@antrea/networks";

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
    of(pool: NamedPool, signal: AbortSignal): Promise<readonly string[]> {
        return this.#find((config) => takesFromPool(config, pool), signal);
    }

    /** The networks that have static addresses among these, for messages as `of`. Rejects with KubeError. */
    withAddressIn(addresses: RangeSet, signal: AbortSignal): Promise<readonly string[]> {
        return this.#find((config) => hasStaticAddress(config, (ip) => addresses.has(ip)), signal);
    }

    async #find(isFound: (config: string) => boolean, signal: AbortSignal): Promise<readonly string[]> {
        const found: string[] = [];
        try {
            for await (const { items } of this.#api.pages(networkAttachmentDefinitions, { signal })) {
                for (const network of items) {
                    if (isFound(network.spec?.config ?? ""))
                        found.push(`NetworkAttachmentDefinition ${keyOf(network)}`);
                }
            }
        } catch (error) {
            if (!isKubeError(error, "NOT_FOUND")) throw error;
        }
        return found;
    }
}
