import { type Clock } from "@antrea/async";
import { setKeyOf, type Allocation } from "../../platform/allocations/index.ts";

// By then the watch has delivered the object, or was closed (after at most 120 s of silence) and reopened.
const keptMs = 180_000;

/**
 * Reservations that the watch has not delivered yet, so that an ordinal is not planned twice, and addresses with a
 * write in progress or of unknown outcome. Holds no timer and follows no watch: the caller calls `settle`, `forget` and
 * `prune`. Names are those of IPAllocations, keys `namespace/name` of StatefulSets.
 */
export class OwnWrites {
    readonly #clock: Pick<Clock, "monotonic">;
    readonly #allocations = new Map<
        string,
        { readonly key: string; readonly allocation: Allocation; readonly at: number }
    >();
    readonly #underWay = new Set<string>();
    /** By allocation name, the StatefulSet of a write that ended with an error: its outcome is unknown. */
    readonly #unsure = new Map<string, string>();

    constructor(clock: Pick<Clock, "monotonic">) {
        this.#clock = clock;
    }

    /** Whether a write for this name is in progress, of unknown outcome, or not delivered by the watch yet. */
    has(name: string): boolean {
        return this.#underWay.has(name) || this.#unsure.has(name) || this.#allocations.has(name);
    }

    /** Written reservations of a StatefulSet, by `namespace/name`. */
    of(key: string): readonly Allocation[] {
        const found: Allocation[] = [];
        for (const each of this.#allocations.values()) if (each.key === key) found.push(each.allocation);
        return found;
    }

    /**
     * Runs `write` and settles as it does. Excludes the address from other plans until it has ended; after a rejection
     * until `settle` has read the outcome, after success until `forget` or `prune`.
     */
    async writing(
        key: string,
        name: string,
        write: () => Promise<Allocation | undefined>,
    ): Promise<Allocation | undefined> {
        this.#underWay.add(name);
        try {
            const allocation = await write();
            this.#note(key, name, allocation);
            return allocation;
        } catch (error) {
            this.#unsure.set(name, key);
            throw error;
        } finally {
            this.#underWay.delete(name);
        }
    }

    /**
     * Resolves the outcome of the failed writes for a StatefulSet by `read`, which reads from the API server; rejects
     * with its errors: what is not settled stays excluded.
     */
    async settle(key: string, read: (name: string) => Promise<Allocation | undefined>): Promise<void> {
        for (const [name, forKey] of [...this.#unsure]) {
            if (forKey !== key) continue;
            const allocation = await read(name);
            this.#unsure.delete(name);
            this.#note(key, name, allocation !== undefined && setKeyOf(allocation) === key ? allocation : undefined);
        }
    }

    #note(key: string, name: string, allocation: Allocation | undefined): void {
        if (allocation !== undefined) this.#allocations.set(name, { key, allocation, at: this.#clock.monotonic() });
    }

    /**
     * To be called when the watch delivered this very object, or when it is deleted and the watch may never deliver it.
     */
    forget({ name, uid }: Pick<Allocation["metadata"], "name" | "uid">): void {
        if (this.#allocations.get(name)?.allocation.metadata.uid === uid) this.#allocations.delete(name);
    }

    /**
     * Forgets objects that the watch has not delivered for three minutes, since they existed only between two lists;
     * returns the StatefulSets to check. To be called periodically.
     */
    prune(): readonly string[] {
        const now = this.#clock.monotonic();
        const old = [...this.#allocations].filter(([, { at }]) => now - at > keptMs);
        for (const [name] of old) this.#allocations.delete(name);
        return old.map(([, { key }]) => key);
    }
}
