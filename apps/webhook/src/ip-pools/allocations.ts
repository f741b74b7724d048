import { allocationAddress, allocationName, ipAllocations, type IpAllocation } from "@antrea/crd";
import { type RangeSet } from "@antrea/ip";
import { isUse, type PoolUse } from "@antrea/ipam";
import { type ApiClient } from "@antrea/kube";

// Number of allocations named in a message.
const shownAllocations = 3;
// Up to this many addresses are read one by one, more by listing the pool's allocations.
const maxSingleReads = 64n;

/**
 * Reads the allocations of pools, always from the API server and not from a cache: removing addresses from a pool is
 * irreversible. Each method rejects with KubeError, also when the signal aborts.
 */
export class AllocationReader {
    readonly #api: Pick<ApiClient, "find" | "pages">;

    constructor(components: { readonly api: Pick<ApiClient, "find" | "pages"> }) {
        this.#api = components.api;
    }

    /**
     * Allocations that name the pool and prevent it from shrinking (`isUse`): those of one page, and whether there are
     * more (`isPart`). None: it is not in use. Rejects with KubeError.
     */
    async anyOf(pool: string, signal: AbortSignal): Promise<Pick<PoolUse, "allocations" | "isPart">> {
        let found: readonly IpAllocation[] = [];
        for await (const { items } of this.#api.pages(ipAllocations, { fieldSelector: `spec.pool=${pool}`, signal })) {
            const uses = items.filter((allocation) => isUse(allocation));
            if (found.length > 0 && uses.length > 0) return { allocations: found, isPart: true };
            if (found.length === 0) found = uses;
        }
        return { allocations: found, isPart: false };
    }

    /**
     * The allocations of these addresses, of whatever owner and whichever pools they name; one request for each
     * address, 64 at once. Rejects with KubeError.
     */
    async at(addresses: RangeSet, signal: AbortSignal): Promise<readonly IpAllocation[]> {
        const names = Array.from(addresses, allocationName);
        const found: IpAllocation[] = [];
        while (names.length > 0) {
            const read = names
                .splice(0, Number(maxSingleReads))
                .map((name) => this.#api.find(ipAllocations, { name }, { signal }));
            found.push(...(await Promise.all(read)).filter((allocation) => allocation !== undefined));
        }
        return found;
    }

    /**
     * The allocations of up to 64 addresses as `at` returns them; of more addresses at most three, to be named in
     * messages: those that name the pool and prevent it from shrinking.
     */
    async of(pool: string, addresses: RangeSet, signal: AbortSignal): Promise<readonly IpAllocation[]> {
        if (addresses.size <= maxSingleReads) return this.at(addresses, signal);
        const found: IpAllocation[] = [];
        for await (const { items } of this.#api.pages(ipAllocations, { fieldSelector: `spec.pool=${pool}`, signal })) {
            found.push(
                ...items.filter(
                    (allocation) =>
                        addresses.has(allocationAddress(allocation.metadata?.name ?? "")) && isUse(allocation),
                ),
            );
            if (found.length >= shownAllocations) break;
        }
        return found.slice(0, shownAllocations);
    }
}
