/** How long a DEL is remembered: longer than any runtime repeats or delays an ADD. */
const lifetimeMs = 10 * 60_000;

/**
 * Remembers for 10 min which containers were deleted and when. A late ADD, requested before the DEL, must not wire a
 * container that is gone: no further DEL would follow. Times are those of `now`, in milliseconds.
 */
export class Tombstones {
    readonly #deletedAt = new Map<string, number>();
    readonly #now: () => number;

    constructor(now: () => number) {
        this.#now = now;
    }

    /** Records that the container is deleted now. */
    add(containerId: string): void {
        const now = this.#now();
        this.#deletedAt.delete(containerId);
        this.#deletedAt.set(containerId, now);
        // Insertion order is age: stop at the first entry that has not expired.
        for (const [id, at] of this.#deletedAt) {
            if (now - at <= lifetimeMs) break;
            this.#deletedAt.delete(id);
        }
    }

    /** Whether the container was deleted at or after that time. */
    hasSince(containerId: string, moment: number): boolean {
        const at = this.#deletedAt.get(containerId);
        return at !== undefined && at >= moment && this.#now() - at <= lifetimeMs;
    }
}
