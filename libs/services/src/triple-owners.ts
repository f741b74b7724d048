/** Who wants one triple: a single Service, or several, of which `owner` has it. */
type Wanting = string | { owner: string; readonly others: Set<string> };

/**
 * Which Service has a triple (address, protocol, port) that several may want: the older one, of two equally old ones the
 * first by key. A change costs as much as the Service has triples; only the next owner of a contested triple is searched
 * among all that want it.
 */
export class TripleOwners {
    readonly #wanting = new Map<string, Wanting>();
    readonly #wanted = new Map<string, { readonly created: string; readonly triples: readonly string[] }>();
    /** The owners of changed triples as they were before. */
    readonly #before = new Map<string, string | undefined>();

    /**
     * Replaces what a Service wants.
     *
     * @param created its creation in RFC 3339; undefined: it is younger than all that have one
     * @returns whether it wants other triples than before
     */
    set(key: string, triples: ReadonlySet<string>, created = "~"): boolean {
        const earlier = this.#wanted.get(key)?.triples ?? [];
        for (const triple of earlier) this.#remove(triple, key);
        if (triples.size === 0) this.#wanted.delete(key);
        else this.#wanted.set(key, { created, triples: [...triples] });
        for (const triple of triples) this.#add(triple, key);
        return earlier.length !== triples.size || earlier.some((triple) => !triples.has(triple));
    }

    /** The key of the Service that has the triple. */
    owner(triple: string): string | undefined {
        const wanting = this.#wanting.get(triple);
        return typeof wanting === "object" ? wanting.owner : wanting;
    }

    /** Returns the keys of the Services that lost or got a triple since the last call. */
    takeChanged(): ReadonlySet<string> {
        const changed = new Set<string>();
        for (const [triple, before] of this.#before) {
            const owner = this.owner(triple);
            if (owner === before) continue;
            if (before !== undefined) changed.add(before);
            if (owner !== undefined) changed.add(owner);
        }
        this.#before.clear();
        return changed;
    }

    #add(triple: string, key: string): void {
        this.#note(triple);
        const wanting = this.#wanting.get(triple);
        if (wanting === undefined) {
            this.#wanting.set(triple, key);
            return;
        }
        const contest = typeof wanting === "object" ? wanting : { owner: wanting, others: new Set<string>() };
        const isFirst = this.#precedes(key, contest.owner);
        contest.others.add(isFirst ? contest.owner : key);
        if (isFirst) contest.owner = key;
        this.#wanting.set(triple, contest);
    }

    #remove(triple: string, key: string): void {
        this.#note(triple);
        const wanting = this.#wanting.get(triple);
        if (typeof wanting !== "object") {
            this.#wanting.delete(triple);
            return;
        }
        if (wanting.owner === key) {
            const [first = "", ...rest] = wanting.others;
            wanting.owner = rest.reduce((owner, other) => (this.#precedes(other, owner) ? other : owner), first);
            wanting.others.delete(wanting.owner);
        } else {
            wanting.others.delete(key);
        }
        if (wanting.others.size === 0) this.#wanting.set(triple, wanting.owner);
    }

    #precedes(a: string, b: string): boolean {
        const [ageOfA, ageOfB] = [this.#wanted.get(a)?.created ?? "", this.#wanted.get(b)?.created ?? ""];
        return ageOfA === ageOfB ? a < b : ageOfA < ageOfB;
    }

    #note(triple: string): void {
        if (!this.#before.has(triple)) this.#before.set(triple, this.owner(triple));
    }
}
