import { type Clock } from "@antrea/async";
import { type Family, type IpAddress } from "@antrea/ip";

/**
 * Remembers recently freed addresses, for `cooldownMs` milliseconds (0: not at all). Other hosts may still hold state
 * for the last owner, such as neighbour entries and connections, so these addresses are used last. Best effort: covers
 * what this agent observed or did.
 */
export class Cooldown {
    readonly #clock: Clock;
    readonly #cooldownMs: number;
    // By address, oldest first: all cool down equally long, so insertion order is expiry order.
    readonly #ends: Readonly<Record<Family, Map<bigint, number>>> = { 4: new Map(), 6: new Map() };

    constructor(components: { readonly clock: Clock }, options: { readonly cooldownMs: number }) {
        this.#clock = components.clock;
        this.#cooldownMs = options.cooldownMs;
    }

    /** Starts the cooldown of the address anew. */
    freed({ family, value }: IpAddress): void {
        const now = this.#clock.monotonic();
        const ends = this.#ends[family];
        for (const [oldest, end] of ends) {
            if (end > now) break;
            ends.delete(oldest);
        }
        ends.delete(value);
        if (this.#cooldownMs > 0) ends.set(value, now + this.#cooldownMs);
    }

    /** Remaining cooldown in milliseconds; 0 if there is none. */
    left({ family, value }: IpAddress): number {
        const end = this.#ends[family].get(value);
        return end === undefined ? 0 : Math.max(0, end - this.#clock.monotonic());
    }

    /** Number of remembered addresses; may include some whose cooldown has ended. */
    get size(): number {
        return this.#ends[4].size + this.#ends[6].size;
    }
}
