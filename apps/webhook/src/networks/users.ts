import { isJsonObject, type JsonObject } from "@antrea/cni";
import { addressInPrefix, IpError, type IpAddress } from "@antrea/ip";
import { type Pool } from "@antrea/ipam";
import {
    isKubeError,
    keyOf,
    networkAttachmentDefinitions,
    type ApiClient,
    type NetworkAttachmentDefinition,
} from "@antrea/kube";
import { ownPartsOf } from "./own-parts.ts";

type NamedPool = Pick<Pool, "name" | "subnetOf">;

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
     * The networks whose IPAM section of type antrea names the pool, or has a static address in its ranges, also if the
     * section is wrong otherwise; for messages: `NetworkAttachmentDefinition a/vlan100`. None without the
     * CustomResourceDefinition. Rejects with KubeError.
     */
    async of(pool: NamedPool, signal: AbortSignal): Promise<readonly string[]> {
        const found: string[] = [];
        try {
            for await (const { items } of this.#api.pages(networkAttachmentDefinitions, { signal })) {
                for (const network of items) {
                    if (usesPool(network, pool)) found.push(`NetworkAttachmentDefinition ${keyOf(network)}`);
                }
            }
        } catch (error) {
            if (!isKubeError(error, "NOT_FOUND")) throw error;
        }
        return found;
    }
}

function usesPool({ spec }: NetworkAttachmentDefinition, pool: NamedPool): boolean {
    return ownPartsOf(spec?.config ?? "")?.sections.some(({ section }) => namesPool(section, pool)) === true;
}

function namesPool({ ippools, addresses }: JsonObject, { name, subnetOf }: NamedPool): boolean {
    if (Array.isArray(ippools) && ippools.includes(name)) return true;
    if (!Array.isArray(addresses)) return false;
    return addresses.some((one: unknown) => {
        const ip = addressOf(one);
        return ip !== undefined && subnetOf(ip) !== undefined;
    });
}

function addressOf(element: unknown): IpAddress | undefined {
    if (!isJsonObject(element) || typeof element["address"] !== "string") return undefined;
    try {
        return addressInPrefix(element["address"]).ip;
    } catch (error) {
        if (error instanceof IpError) return undefined;
        throw error;
    }
}
