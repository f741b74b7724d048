import { type Clock } from "@antrea/async";
import { allocationName, type IpAllocation } from "@antrea/crd";
import { type IpAddress } from "@antrea/ip";
import { type ClaimWriter } from "./claim-writer.ts";
import { type OwnClaims } from "./own-claims.ts";
import { askLimitMs, within } from "./requests.ts";

export interface LiveClaimsComponents {
    readonly own: OwnClaims;
    readonly writer: Pick<ClaimWriter, "find">;
    readonly clock: Clock;
}

/** An address, with what the API server said of its claim. */
export interface Answer<Address> {
    readonly address: Address;
    readonly live: IpAllocation | undefined;
    /** The state of the claim that was known before. */
    readonly before: string | undefined;
    /** By the monotonic clock, before it was asked. */
    readonly askedAt: number;
}

/** Asks the API server for claims before the lock of a container is taken, so that nobody waits for it there. */
export class LiveClaims {
    readonly #components: LiveClaimsComponents;

    constructor(components: LiveClaimsComponents) {
        this.#components = components;
    }

    /** The answers about all of them; rejects after 3 s, and one request under way. */
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

    /** Whether something became known since which the answer may not have. */
    isLate({ address, before }: Answer<{ readonly ip: IpAddress }>): boolean {
        return this.#stateOf(address.ip) !== before;
    }

    #stateOf(ip: IpAddress): string | undefined {
        const { uid, resourceVersion } = this.#components.own.get(allocationName(ip))?.metadata ?? {};
        return uid === undefined ? undefined : `${uid} ${resourceVersion}`;
    }
}
