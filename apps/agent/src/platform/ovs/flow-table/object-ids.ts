/** 2^32 values without 0, which is the id of no object. */
const maxObjectId = 0xffff_ffff;

/**
 * The object ids of owners: the hash of the owner's name, so that it is the same after a restart, and the next free
 * number where two names have one hash. Flows are found by owner and name, never by id, so an id that is another one
 * after a restart does no harm: each start has a round of its own.
 */
export class ObjectIds {
    readonly #owners = new Map<number, string>();

    /** The id of the owner, from its first flow to its last. */
    take(owner: string): number {
        let id = fnv1a(owner);
        while (id === 0 || (this.#owners.get(id) ?? owner) !== owner) id = id === maxObjectId ? 1 : id + 1;
        this.#owners.set(id, owner);
        return id;
    }

    free(id: number): void {
        this.#owners.delete(id);
    }
}

/** FNV-1a with 32 bits over UTF-16 code units: http://www.isthe.com/chongo/tech/comp/fnv */
function fnv1a(text: string): number {
    let hash = 0x811c_9dc5;
    for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x0100_0193);
    return hash >>> 0;
}
