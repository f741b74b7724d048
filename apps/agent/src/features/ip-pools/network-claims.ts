import { addressOf } from "./claimed-address.ts";
import { type IpPools } from "./ip-pools.ts";
import type {
    Attachment,
    NetworkAddress,
    NetworkAddresses,
    NetworkRecordAddress,
} from "../../platform/pod-interfaces/index.ts";

/** The allocations for the interfaces of networks that this agent makes, as Pod wiring uses them. */
export interface NetworkClaims {
    /** Allocates the addresses of one interface as `PoolAllocator.claim`; rejects also as `IpPools.requestOf`. */
    claimForNetwork(asked: NetworkAddresses, signal: AbortSignal): Promise<readonly NetworkAddress[]>;
    /** Frees the allocations of an interface: see `IpPools.release`. */
    release(attachment: Attachment): Promise<void>;
    /** The interfaces of a container that have known allocations and that this agent makes, without its own. */
    networkInterfacesOf(containerId: string): readonly Attachment[];
    /** The network that the known allocations of an interface name; "" if there are none. */
    networkOf(attachment: Attachment): string;
    /** The known allocations of an interface, with the settings of their pools, where these are known. */
    addressesFor(attachment: Attachment): readonly NetworkRecordAddress[];
}

/** Adapts the pools of this Node for the interfaces of networks that this agent makes. */
export function networkClaims(pools: IpPools): NetworkClaims {
    return {
        claimForNetwork: async (asked, signal) =>
            pools.allocator.claim(await pools.networkRequest(asked, signal), signal),
        release: (attachment) => pools.release(attachment),
        networkInterfacesOf: (containerId) => {
            const names = pools.own
                .list()
                .map(({ spec }) => spec.pod)
                // The name of a network of another plugin has no "/".
                .filter((pod) => pod?.containerID === containerId && pod.network?.includes("/") === true)
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
