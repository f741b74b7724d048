import { allocationName } from "@antrea/crd";
import { type Allocation, type AllocationWriter, type Reservation } from "../../platform/allocations/index.ts";
import { NodeAddressesError } from "./errors.ts";

/**
 * Makes reservations, and keeps those that the watch has not delivered yet, by name of the allocation, so that none is
 * made twice. Follows no watch: the caller calls `delivered` for each change.
 */
export class CreatedReservations {
    readonly #writer: Pick<AllocationWriter, "reserve">;
    readonly #allocations = new Map<string, Allocation>();
    /** Names of reservations under way of which the watch has delivered nothing yet. */
    readonly #creating = new Set<string>();

    constructor(components: { readonly writer: Pick<AllocationWriter, "reserve"> }) {
        this.#writer = components.writer;
    }

    /** Reservations that the watch has not delivered. */
    get all(): Iterable<Allocation> {
        return this.#allocations.values();
    }

    /** The reservation of this name; undefined if none was made, or the watch has delivered it. */
    get(name: string): Allocation | undefined {
        return this.#allocations.get(name);
    }

    /**
     * Reserves an address; the reservation is then in `all` until it is delivered. Rejects with NodeAddressesError
     * `ALLOCATION_NOT_KNOWN` if it is allocated already, of which the caller does not know, or with KubeError.
     */
    async create(reservation: Reservation, signal: AbortSignal): Promise<void> {
        const name = allocationName(reservation.ip);
        this.#creating.add(name);
        const allocation = await this.#writer.reserve(reservation, signal);
        if (allocation === undefined) {
            // Without the address, so that many are logged in one line; the reconciler names the objects.
            const message = "the address has an allocation that the watch has not delivered yet";
            throw new NodeAddressesError("ALLOCATION_NOT_KNOWN", "environment", message);
        }
        // The watch may be faster than the answer, and may even have delivered a deletion.
        if (this.#creating.delete(name)) this.#allocations.set(name, allocation);
    }

    /** To be called when the watch delivered this allocation or its deletion. */
    delivered(name: string): void {
        this.#allocations.delete(name);
        this.#creating.delete(name);
    }

    /** Forgets all, since a watch that was interrupted never delivers what was deleted meanwhile. */
    clear(): void {
        this.#allocations.clear();
    }
}
