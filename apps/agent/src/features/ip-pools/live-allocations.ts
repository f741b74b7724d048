import { type Clock } from "@antrea/async";
import { allocationName, type IpAllocation } from "@antrea/crd";
import { type IpAddress } from "@antrea/ip";
import { type AllocationWriter } from "./allocation-writer.ts";
import { type OwnAllocations } from "./own-allocations.ts";
import { askLimitMs, within } from "./requests.ts";

/** Dependencies of LiveAllocations. */
export interface LiveAllocationsComponents {
    readonly own: OwnAllocations;
    readonly writer: Pick<AllocationWriter, "find">;
    readonly clock: Clock;
}

/** An address with the API server's answer about its allocation: `live` is undefined if there is none. */
export interface Answer<Address> {
    readonly address: Address;
    readonly live: IpAllocation | undefined;
    /** UID and resourceVersion of the allocation in the cache before the request; undefined if it had none. */
    readonly before: string | undefined;
    /** Monotonic time of the request, in milliseconds. */
    readonly askedAt: number;
}

/**
 * Reads allocations from the API server before a container lock is taken, so that no lock holder waits for it. Under
 * the lock `isLate` shows whether an answer must be read again.
 */
export class LiveAllocations {
    readonly #components: LiveAllocationsComponents;

    constructor(components: LiveAllocationsComponents) {
        this.#components = components;
    }

    /**
     * Reads the allocations of all addresses, in order. An unanswered request is repeated for 3 s, or until the signal
     * aborts; then it rejects with the KubeError of the last one, which takes up to 3 s more.
     */
    ask<Address extends { readonly ip: IpAddress }>(
        addresses: readonly Address[],
        signal: AbortSignal,
    ): Promise<readonly Answer<Address>[]> {
        const { clock, writer } = this.#components;
        const limit = within(signal, askLimitMs);
        const askedAt = clock.monotonic();
        return Promise.all(
            addresses.map(async (address): Promise<Answer<Address>> => {
                const before = this.#stateOf(address.ip);
                return { address, live: await writer.find(address.ip, limit, askLimitMs), before, askedAt };
            }),
        );
    }

    /** Whether the cache changed since the request, so that the answer may be stale. */
    isLate({ address, before }: Answer<{ readonly ip: IpAddress }>): boolean {
        return this.#stateOf(address.ip) !== before;
    }

    #stateOf(ip: IpAddress): string | undefined {
        const { uid, resourceVersion } = this.#components.own.get(allocationName(ip))?.metadata ?? {};
        return uid === undefined ? undefined : `${uid} ${resourceVersion}`;
    }
}
