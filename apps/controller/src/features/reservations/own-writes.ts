import { type Clock } from "@antrea/async";
import { setKeyOf, type Claim } from "../../platform/allocations/index.ts";

// A watch that is later than this was given up (after 120 s without a word at most) and opened again.
const keptMs = 180_000;

/**
 * Reservations that were written and that the watch has not told yet, so that what was just made is not planned again
 * for the same ordinal, and addresses that a write is under way for.
 */
export class OwnWrites {
    readonly #clock: Pick<Clock, "monotonic">;
    readonly #claims = new Map<string, { readonly key: string; readonly claim: Claim; readonly at: number }>();
    readonly #underWay = new Set<string>();
    /** By name, the StatefulSet that a write ended with an error for: nobody knows whether it took effect. */
    readonly #unsure = new Map<string, string>();

    constructor(clock: Pick<Clock, "monotonic">) {
        this.#clock = clock;
    }

    has(name: string): boolean {
        return this.#underWay.has(name) || this.#unsure.has(name) || this.#claims.has(name);
    }

    /** For a StatefulSet, by `namespace/name`. */
    of(key: string): readonly Claim[] {
        const found: Claim[] = [];
        for (const each of this.#claims.values()) if (each.key === key) found.push(each.claim);
        return found;
    }

    /** Keeps others from planning with the address until `write` has ended. */
    async writing(key: string, name: string, write: () => Promise<Claim | undefined>): Promise<Claim | undefined> {
        this.#underWay.add(name);
        try {
            const claim = await write();
            this.#note(key, name, claim);
            return claim;
        } catch (error) {
            this.#unsure.set(name, key);
            throw error;
        } finally {
            this.#underWay.delete(name);
        }
    }

    /** Finds out what became of the writes for a StatefulSet that ended with an error; rejects with what `read` rejects with. */
    async settle(key: string, read: (name: string) => Promise<Claim | undefined>): Promise<void> {
        for (const [name, forKey] of [...this.#unsure]) {
            if (forKey !== key) continue;
            const claim = await read(name);
            this.#unsure.delete(name);
            this.#note(key, name, claim !== undefined && setKeyOf(claim) === key ? claim : undefined);
        }
    }

    #note(key: string, name: string, claim: Claim | undefined): void {
        if (claim !== undefined) this.#claims.set(name, { key, claim, at: this.#clock.monotonic() });
    }

    /** The watch told of this very object, or it is deleted already and the watch may never tell. */
    forget({ name, uid }: Pick<Claim["metadata"], "name" | "uid">): void {
        if (this.#claims.get(name)?.claim.metadata.uid === uid) this.#claims.delete(name);
    }

    /** Forgets what the watch never told, since it came and went between two lists; whose they were is to be looked at. */
    prune(): readonly string[] {
        const now = this.#clock.monotonic();
        const old = [...this.#claims].filter(([, { at }]) => now - at > keptMs);
        for (const [name] of old) this.#claims.delete(name);
        return old.map(([, { key }]) => key);
    }
}
