import { allocationName } from "@antrea/crd";
import { type Family } from "@antrea/ip";
import { type NewReservation, type ReservationInput } from "./reservation-plan.ts";

type FreeAddress = Omit<NewReservation, "ordinal">;

/**
 * The free addresses of each IP family: the fixed one, or those of the listed pools in order. Each is returned once.
 */
export class FreeAddresses {
    readonly #input: ReservationInput;
    readonly #sources = new Map<Family, Iterator<FreeAddress>>();
    readonly #next = new Map<Family, FreeAddress | undefined>();
    // Pools of a list may overlap.
    readonly #given = new Set<string>();

    constructor(input: ReservationInput) {
        this.#input = input;
    }

    /** Returns the address that `take` would return; undefined if none is free. */
    peek(family: Family): FreeAddress | undefined {
        if (!this.#next.has(family)) {
            const source = this.#sources.get(family) ?? this.#free(family);
            this.#sources.set(family, source);
            const { done, value } = source.next();
            this.#next.set(family, done === true ? undefined : value);
        }
        return this.#next.get(family);
    }

    take(family: Family): FreeAddress {
        const next = this.peek(family)!;
        this.#given.add(allocationName(next.ip));
        this.#next.delete(family);
        return next;
    }

    *#free(family: Family): Generator<FreeAddress, undefined> {
        const fixed = this.#input.fixed.find((ip) => ip.family === family);
        for (const { name, family: familyOfPool, usable } of this.#input.pools) {
            if (familyOfPool !== family) continue;
            for (const ip of fixed === undefined ? usable : [fixed].filter((only) => usable.has(only))) {
                if (!this.#given.has(allocationName(ip)) && !this.#input.isTaken(ip)) yield { ip, pool: name };
            }
        }
        return undefined;
    }
}
