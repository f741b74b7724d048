import { allocationAddress, allocationName, ipAllocations, type IpAllocation } from "@antrea/crd";
import { type RangeSet } from "@antrea/ip";
import { isUse } from "@antrea/ipam";
import { type ApiClient } from "@antrea/kube";

// What a sentence about the users of a pool can hold.
const shownClaims = 3;
// More addresses than these are looked for in the list of the pool's claims.
const maxSingleReads = 64n;

/** The claims of pools, always read from the API server: a pool that is taken away cannot be given back. */
export class ClaimReader {
    readonly #api: Pick<ApiClient, "find" | "pages">;

    constructor(components: { readonly api: Pick<ApiClient, "find" | "pages"> }) {
        this.#api = components.api;
    }

    /** The first few claims that keep the pool from shrinking; none when it is not in use. */
    async anyOf(pool: string, signal: AbortSignal): Promise<readonly IpAllocation[]> {
        const found: IpAllocation[] = [];
        for await (const { items } of this.#api.pages(ipAllocations, { fieldSelector: `spec.pool=${pool}`, signal })) {
            found.push(...items.filter((claim) => isUse(claim)));
            if (found.length > 0) break;
        }
        return found.slice(0, shownClaims);
    }

    /** The claims of these addresses, whichever pools they name; one request each. */
    async at(addresses: RangeSet, signal: AbortSignal): Promise<readonly IpAllocation[]> {
        const names = Array.from(addresses, allocationName);
        const found: IpAllocation[] = [];
        while (names.length > 0) {
            const read = names
                .splice(0, Number(maxSingleReads))
                .map((name) => this.#api.find(ipAllocations, { name }, { signal }));
            found.push(...(await Promise.all(read)).filter((claim) => claim !== undefined));
        }
        return found;
    }

    /** The claims of these addresses, as far as they name the pool where they are many. */
    async of(pool: string, addresses: RangeSet, signal: AbortSignal): Promise<readonly IpAllocation[]> {
        if (addresses.size <= maxSingleReads) return this.at(addresses, signal);
        const found: IpAllocation[] = [];
        for await (const { items } of this.#api.pages(ipAllocations, { fieldSelector: `spec.pool=${pool}`, signal })) {
            found.push(
                ...items.filter(
                    (claim) => addresses.has(allocationAddress(claim.metadata?.name ?? "")) && isUse(claim),
                ),
            );
            if (found.length >= shownClaims) break;
        }
        return found.slice(0, shownClaims);
    }
}
