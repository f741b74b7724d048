import { allocationAddress, allocationName, ipAllocations, type IpAllocation } from "@antrea/crd";
import { type RangeSet } from "@antrea/ip";
import { isUse, type PoolUse } from "@antrea/ipam";
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

    /** Claims that keep the pool from shrinking: a page of them, and whether there are more. None: it is not in use. */
    async anyOf(pool: string, signal: AbortSignal): Promise<Pick<PoolUse, "claims" | "isPart">> {
        let found: readonly IpAllocation[] = [];
        for await (const { items } of this.#api.pages(ipAllocations, { fieldSelector: `spec.pool=${pool}`, signal })) {
            const uses = items.filter((claim) => isUse(claim));
            if (found.length > 0 && uses.length > 0) return { claims: found, isPart: true };
            if (found.length === 0) found = uses;
        }
        return { claims: found, isPart: false };
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
