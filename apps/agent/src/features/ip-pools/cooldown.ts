import { type Clock } from "@antrea/async";
import { type Family, type IpAddress } from "@antrea/ip";

/**
 * Remembers which addresses became free a moment ago. Others may still hold state for the last owner, such as neighbour
 * entries and connections: as long as there are other addresses, these wait. Best effort: what this agent saw or did.
 */
export class Cooldown {
    readonly #clock: Clock;
    readonly #cooldownMs: number;
    // By address, oldest first: all wait equally long, so the order of insertion is the order of their ends.
    readonly #ends: Readonly<Record<Family, Map<bigint, number>>> = { 4: new Map(), 6: new Map() };

    constructor(components: { readonly clock: Clock }, options: { readonly cooldownMs: number }) {
        this.#clock = components.clock;
        this.#cooldownMs = options.cooldownMs;
    }

    /** The address is free from now on. */
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

    /** For how many more milliseconds the address should rest; 0 when it need not. */
    left({ family, value }: IpAddress): number {
        const end = this.#ends[family].get(value);
        return end === undefined ? 0 : Math.max(0, end - this.#clock.monotonic());
    }

    /** How many addresses are remembered. */
    get size(): number {
        return this.#ends[4].size + this.#ends[6].size;
    }
}
