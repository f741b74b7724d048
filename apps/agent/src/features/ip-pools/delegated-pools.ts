import { type IpAddress } from "@antrea/ip";
import { type DelegatedAllocations, type WiredContainers } from "./delegated-allocations.ts";
import { type IpPools } from "./ip-pools.ts";
import type { Attachment, NetworkAddress, NetworkAddresses } from "../../platform/pod-interfaces/index.ts";

/** The allocations for interfaces that other plugins make, as their feature uses them. */
export interface DelegatedPools {
    /** Resolves when pools and own allocations are synced; KubeError `ABORTED` if the signal aborts. */
    synced(signal: AbortSignal): Promise<void>;
    /** The IPPool whose ranges contain the address: one of the named, else any; undefined if none does. */
    poolOf(ip: IpAddress, named: readonly string[]): string | undefined;
    /** Allocates the addresses as `PoolAllocator.claim`; rejects also as `IpPools.requestOf`. */
    claim(asked: NetworkAddresses, signal: AbortSignal): Promise<readonly NetworkAddress[]>;
    /** Frees the allocations of an interface: see `IpPools.release`. */
    release(attachment: Attachment): Promise<void>;
    /** The allocated addresses of an interface, as text; rejects as `synced`. */
    addressesOf(attachment: Attachment, signal: AbortSignal): Promise<readonly string[]>;
    /** Frees the allocations of the interfaces that `DelegatedAllocations.garbage` finds; their number. */
    collect(network: string, valid: readonly Attachment[], before: number): Promise<number>;
    /** See `DelegatedAllocations.check`. */
    check(signal: AbortSignal): Promise<number | undefined>;
    /** Registers a listener, for good, that is called when an allocation of this Node is gone. */
    onGone(listener: () => void): void;
}

/** How long GC waits for the allocations of this Node. */
const knownMs = 10_000;

/** Adapts the pools of this Node for the interfaces that other plugins make in these containers. To be called once. */
export function delegatedPools(pools: IpPools, containers: WiredContainers): DelegatedPools {
    const allocations: DelegatedAllocations = pools.delegated(containers);
    const release = (attachment: Attachment): Promise<void> =>
        pools.release(attachment, (...args) => allocations.release(...args));
    return {
        release,
        synced: (signal) => pools.synced(signal),
        poolOf: (ip, named) => named.find((name) => pools.cache.poolOf(ip, name) === name) ?? pools.cache.poolOf(ip),
        claim: async (asked, signal) => allocations.claim(await pools.networkRequest(asked, signal), signal),
        addressesOf: async (attachment, signal) => {
            await pools.own.synced(signal);
            return allocations.addressesOf(attachment);
        },
        collect: async (network, valid, before) => {
            await pools.own.synced(AbortSignal.timeout(knownMs));
            const garbage = allocations.garbage(network, valid, before);
            await Promise.all(garbage.map(release));
            return garbage.length;
        },
        check: (signal) => allocations.check(signal),
        onGone: (listener) => void pools.own.onGone(listener),
    };
}
