/** Counts events. A run without a kind of fault has not tested it. */
export class Counters {
    readonly #counts = new Map<string, number>();

    count(name: string, by = 1): void {
        this.#counts.set(name, (this.#counts.get(name) ?? 0) + by);
    }

    get(name: string): number {
        return this.#counts.get(name) ?? 0;
    }

    add(others: Readonly<Record<string, number>>): void {
        for (const [name, count] of Object.entries(others)) this.count(name, count);
    }

    all(): Readonly<Record<string, number>> {
        return Object.fromEntries([...this.#counts].sort(([one], [other]) => (one < other ? -1 : 1)));
    }
}
