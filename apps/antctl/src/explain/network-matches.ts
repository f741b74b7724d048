import { type Allocation } from "../cluster/index.ts";
import { type RequestedNetwork } from "./requested-networks.ts";

/** Which allocations of a Pod belong to which network that it requests; `others` belong to none. */
export interface NetworkMatches {
    readonly found: readonly { readonly requested: RequestedNetwork; readonly has: readonly Allocation[] }[];
    readonly others: readonly Allocation[];
}

/** Matches the allocations of a Pod on other networks: by interface and network, else by the network only. */
export function matchNetworks(
    allocations: readonly Allocation[],
    requested: readonly RequestedNetwork[],
): NetworkMatches {
    const left = Map.groupBy(allocations, ({ pod }) => pod?.interface ?? "");
    const isOf = (ifName: string, { names }: RequestedNetwork): boolean =>
        left.get(ifName)?.some(({ pod }) => names.includes(pod?.network ?? "")) === true;
    const matched = new Map<RequestedNetwork, readonly Allocation[]>();
    const take = (one: RequestedNetwork, ifName: string): void => {
        matched.set(one, left.get(ifName) ?? []);
        left.delete(ifName);
    };
    for (const one of requested) if (isOf(one.ifName, one)) take(one, one.ifName);
    // A meta plugin may have chosen the name.
    for (const one of requested.filter((each) => !matched.has(each))) {
        const names = [...left.keys()].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
        const ifName = names.find((name) => isOf(name, one));
        if (ifName !== undefined) take(one, ifName);
    }
    const found = requested.map((one) => ({ requested: one, has: matched.get(one) ?? [] }));
    return { found, others: [...left.values()].flat() };
}
