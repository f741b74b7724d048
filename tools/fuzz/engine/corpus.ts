import { type Random } from "./random.ts";

/** An input with new coverage, and its use. */
export interface Entry {
    readonly bytes: Uint8Array;
    /** The branches that it covers. */
    readonly probes: Int32Array;
    /** Number of mutations. */
    rounds: number;
    /** Whether its comparisons have been tried. */
    compared: boolean;
}

/** The inputs with new coverage; the smallest for each branch is favoured. */
export class Corpus {
    readonly #entries: Entry[] = [];
    readonly #best = new Map<number, Entry>();
    #favoured: readonly Entry[] | undefined;
    /** The branches that seeds cover. */
    #seeded: ReadonlySet<number> = new Set();

    get size(): number {
        return this.#entries.length;
    }

    get entries(): readonly Entry[] {
        return this.#entries;
    }

    add(entry: Entry): void {
        this.#entries.push(entry);
        for (const probe of entry.probes) {
            const best = this.#best.get(probe);
            if (best !== undefined && best.bytes.length <= entry.bytes.length) continue;
            this.#best.set(probe, entry);
            this.#favoured = undefined;
        }
    }

    /** Marks the current entries as seeds, which need not be kept. */
    markSeeds(): void {
        this.#seeded = new Set(this.#best.keys());
    }

    /** The next entry to mutate: mostly a favoured one with few mutations. */
    next(random: Random): Entry | undefined {
        this.#favoured ??= [...new Set(this.#best.values())];
        const from = random.oneIn(5) ? this.#entries : this.#favoured;
        const [one, two] = [random.pick(from), random.pick(from)];
        return one !== undefined && two !== undefined && two.rounds < one.rounds ? two : one;
    }

    any(random: Random): Uint8Array {
        return random.pick(this.#entries)?.bytes ?? new Uint8Array();
    }

    /**
     * A small set that, with the seeds, covers all branches of the corpus: greedily the entry with the most new
     * branches for its size.
     */
    cover(limits: { readonly entries: number; readonly bytes: number }): readonly Uint8Array[] {
        const left = new Set([...this.#best.keys()].filter((probe) => !this.#seeded.has(probe)));
        const candidates = new Set(this.#entries);
        const chosen: Uint8Array[] = [];
        let bytes = 0;
        while (left.size > 0 && chosen.length < limits.entries) {
            let best: Entry | undefined;
            let bestWorth = 0;
            for (const entry of candidates) {
                const gain = entry.probes.reduce((sum, probe) => sum + (left.has(probe) ? 1 : 0), 0);
                if (gain === 0) candidates.delete(entry);
                const worth = gain / (256 + entry.bytes.length);
                if (gain === 0 || worth <= bestWorth || bytes + entry.bytes.length > limits.bytes) continue;
                [best, bestWorth] = [entry, worth];
            }
            if (best === undefined) break;
            candidates.delete(best);
            chosen.push(best.bytes);
            bytes += best.bytes.length;
            for (const probe of best.probes) left.delete(probe);
        }
        return chosen;
    }
}
