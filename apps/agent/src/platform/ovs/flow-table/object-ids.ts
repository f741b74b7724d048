import { fnv1a } from "../../fnv1a.ts";

/** 2^32 values without 0, which is never assigned. */
const maxObjectId = 0xffff_ffff;

/**
 * Object IDs of owners: the hash of the owner's name, so that it is stable across restarts, and the next free number if
 * two names collide. Flows are looked up by owner and name, never by ID, so a different ID after a restart is harmless:
 * each start has its own round.
 */
export class ObjectIds {
    readonly #owners = new Map<number, string>();

    /**
     * A free ID (1 to 2^32-1) for the owner, reserved from its first flow to its last: to be called once until `free`.
     */
    take(owner: string): number {
        let id = fnv1a(owner);
        while (id === 0 || (this.#owners.get(id) ?? owner) !== owner) id = id === maxObjectId ? 1 : id + 1;
        this.#owners.set(id, owner);
        return id;
    }

    /** Frees an ID; no effect if it is free already. */
    free(id: number): void {
        this.#owners.delete(id);
    }
}
