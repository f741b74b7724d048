import { type IpAddress } from "@antrea/ip";
import { type PoolMatch } from "@antrea/networks";
import { type DelegatedAllocations, type WiredContainers } from "./delegated-allocations.ts";
import { apiAway } from "./errors.ts";
import { type IpPools } from "./ip-pools.ts";
import type {
    Attachment,
    NetworkAddress,
    NetworkAddresses,
    PodAttachment,
} from "../../platform/pod-interfaces/index.ts";

/** The allocations for interfaces that other plugins make, as their feature uses them. */
export interface DelegatedPools {
    /** Resolves when pools and own allocations are synced; IpPoolError `API_AWAY` if they are not in time. */
    synced(signal: AbortSignal): Promise<void>;
    /** The IPPool that matches the address: one of the named, else any; undefined if none does. */
    poolOf(ip: IpAddress, named: readonly string[], match: PoolMatch): string | undefined;
    /** Allocates the addresses as `DelegatedAllocations.claim`; rejects also as `IpPools.requestOf`. */
    claim(asked: NetworkAddresses, receivedAt: number, signal: AbortSignal): Promise<readonly NetworkAddress[]>;
    /** Whether the interface of the Pod has allocations, from any of its sandboxes. */
    hasAny(podUid: string, ifName: string): boolean;
    /** Records on the Pod that an interface got no addresses. */
    failed(asked: PodAttachment, error: unknown): void;
    /** Frees the allocations of an interface: see `IpPools.release`. */
    release(attachment: Attachment): Promise<void>;
    /** The allocated addresses of an interface, as text; undefined while they are not known. */
    addressesOf(attachment: Attachment): readonly string[] | undefined;
    /** Frees the allocations of the interfaces that `DelegatedAllocations.garbage` finds; their number. */
    collect(network: string, valid: readonly Attachment[], before: number): Promise<number>;
    /** See `DelegatedAllocations.check`. */
    check(signal: AbortSignal): Promise<number | undefined>;
    /** Registers a listener, for good, that is called when an allocation of this Node is gone. */
    onGone(listener: () => void): void;
}

/** How long an ADD waits for the IPPools. */
const syncLimitMs = 30_000;
/** How long GC waits for the allocations of this Node. */
const knownMs = 10_000;

/** Adapts the pools of this Node for the interfaces that other plugins make in these containers. To be called once. */
export function delegatedPools(pools: IpPools, containers: WiredContainers): DelegatedPools {
    const allocations: DelegatedAllocations = pools.delegated(containers);
    const release = (attachment: Attachment): Promise<void> =>
        pools.release(attachment, (...args) => allocations.release(...args));
    const synced = async (signal: AbortSignal): Promise<void> => {
        const limit = AbortSignal.any([signal, AbortSignal.timeout(syncLimitMs)]);
        try {
            await pools.synced(limit);
        } catch (error) {
            signal.throwIfAborted();
            throw apiAway("reading the IPPools and the allocations of this Node", pools.lastError ?? error);
        }
    };
    return {
        release,
        synced,
        poolOf: (ip, named, match) =>
            named.find((name) => pools.cache.poolOf(ip, name, match) === name) ?? pools.cache.poolOf(ip, "", match),
        claim: async (asked, receivedAt, signal) =>
            allocations.claim(await pools.networkRequest(asked, signal), receivedAt, signal),
        hasAny: (podUid, ifName) => allocations.hasAny(podUid, ifName),
        failed: (asked, error) => pools.networkFailed(asked, error),
        addressesOf: (attachment) => (pools.own.hasSynced ? allocations.addressesOf(attachment) : undefined),
        collect: async (network, valid, before) => {
            await synced(AbortSignal.timeout(knownMs));
            const garbage = allocations.garbage(network, valid, before);
            await Promise.all(garbage.map(release));
            return garbage.length;
        },
        check: (signal) => allocations.check(signal),
        onGone: (listener) => void pools.own.onGone(listener),
    };
}
