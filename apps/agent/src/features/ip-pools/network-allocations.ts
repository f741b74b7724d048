import { addressOf } from "./claimed-address.ts";
import { type IpPools } from "./ip-pools.ts";
import type { NetworkAllocations } from "../../platform/pod-interfaces/index.ts";

/** Adapts the pools of this Node for the interfaces of networks that this agent makes. */
export function networkAllocations(pools: IpPools): NetworkAllocations {
    return {
        claimForNetwork: async (asked, signal) =>
            pools.allocator.claim(await pools.networkRequest(asked, signal), signal),
        release: (attachment) => pools.release(attachment),
        hasAllocations: (holder, ips) => pools.hasAllocations(holder, ips),
        networkInterfacesOf: (containerId) => {
            const names = pools.own
                .ofAnyInterface(containerId)
                .map(({ spec }) => spec.pod)
                // The name of a network of another plugin has no "/".
                .filter((pod) => pod?.network?.includes("/") === true)
                .map((pod) => pod?.interface ?? "");
            return [...new Set(names)].map((ifName) => ({ containerId, ifName }));
        },
        networkOf: (attachment) => pools.own.ofContainer(attachment)[0]?.spec.pod?.network ?? "",
        addressesFor: (attachment) =>
            pools.own.ofContainer(attachment).flatMap((allocation) => {
                const known = pools.cache.known(allocation.spec.pool);
                const address = known && addressOf(allocation, [known]);
                return address === undefined ? [] : [address];
            }),
    };
}
