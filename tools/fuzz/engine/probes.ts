/** The operands of a comparison: possibly a part of the input, and its expected value. */
export type Comparison = readonly [Plain, Plain];

type Plain = number | bigint | string;

function isPlain(value: unknown): value is Plain {
    return typeof value === "number" || typeof value === "bigint" || typeof value === "string";
}

interface File {
    readonly name: string;
    readonly base: number;
    readonly count: number;
    readonly tokens: readonly string[];
}

const maxProbes = 1 << 16;
const maxComparisons = 4_000;

/** The counters and records of instrumented code; one per thread, under the name that the instrumentation uses. */
export class Probes {
    /** How often each branch was executed since the last `clear`. */
    readonly hits: Uint16Array = new Uint16Array(maxProbes);
    readonly #words = new Int32Array(this.hits.buffer);
    readonly #files: File[] = [];
    #used = 0;
    #recording = false;
    #comparisons: Comparison[] = [];
    #texts = new Set<string>();
    #subject: unknown;

    /** The number of branches. */
    get used(): number {
        return this.#used;
    }

    /** The counters as pairs, to skip zeros. */
    get words(): Int32Array {
        return this.#words;
    }

    clear(): void {
        this.hits.fill(0, 0, this.#used);
    }

    /** Runs `work` and returns the comparisons and lookups that it made. */
    async watch(work: () => unknown): Promise<{ comparisons: readonly Comparison[]; texts: readonly string[] }> {
        this.#comparisons = [];
        this.#texts = new Set();
        this.#recording = true;
        try {
            await work();
        } finally {
            this.#recording = false;
        }
        return { comparisons: this.#comparisons, texts: [...this.#texts] };
    }

    /** The source tokens of the branches for which `isTouched` returns true. */
    tokens(isTouched: (probe: number) => boolean): readonly string[] {
        const found = new Set<string>();
        for (const { base, count, tokens } of this.#files) {
            for (let at = base; at < base + count; at++) {
                if (!isTouched(at)) continue;
                for (const token of tokens) found.add(token);
                break;
            }
        }
        return [...found];
    }

    /** The file that contains a branch. */
    fileOf(probe: number): string {
        return this.#files.find(({ base, count }) => probe >= base && probe < base + count)?.name ?? "";
    }

    // The methods below are called by instrumented code.

    reserve(name: string, count: number, tokens: readonly string[]): number {
        const base = this.#used;
        // eslint-disable-next-line no-restricted-syntax -- this file imports no class: the library of it would be loaded uncounted
        if (base + count > maxProbes) throw new RangeError(`more than ${maxProbes} branches: raise maxProbes`);
        this.#files.push({ name, base, count, tokens });
        this.#used += count;
        return base;
    }

    same(a: unknown, b: unknown): boolean {
        if (this.#recording) this.#record(a, b);
        return a === b;
    }

    other(a: unknown, b: unknown): boolean {
        if (this.#recording) this.#record(a, b);
        return a !== b;
    }

    less(a: never, b: never): boolean {
        if (this.#recording) this.#record(a, b);
        return a < b;
    }

    atMost(a: never, b: never): boolean {
        if (this.#recording) this.#record(a, b);
        return a <= b;
    }

    more(a: never, b: never): boolean {
        if (this.#recording) this.#record(a, b);
        return a > b;
    }

    atLeast(a: never, b: never): boolean {
        if (this.#recording) this.#record(a, b);
        return a >= b;
    }

    subject<T>(value: T): T {
        if (this.#recording) this.#subject = value;
        return value;
    }

    case<T>(value: T): T {
        if (this.#recording) this.#record(this.#subject, value);
        return value;
    }

    asked<T>(value: T): T {
        if (this.#recording && typeof value === "string" && this.#texts.size < maxComparisons) this.#texts.add(value);
        return value;
    }

    #record(a: unknown, b: unknown): void {
        if (a === b || this.#comparisons.length >= maxComparisons) return;
        if (isPlain(a) && isPlain(b)) this.#comparisons.push([a, b]);
    }
}

declare global {
    // A name that the instrumentation uses in the code of other modules.
    var antreaProbes: Probes;
}

globalThis.antreaProbes = new Probes();
