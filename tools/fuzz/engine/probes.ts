/** Something an execution compared: a part of the input, perhaps, and what it was expected to be. */
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

/** What instrumented code counts and tells; one of a thread, under the name that the instrumentation writes. */
export class Probes {
    /** How often each branch was taken since the last `clear`. */
    readonly hits: Uint16Array = new Uint16Array(maxProbes);
    readonly #words = new Int32Array(this.hits.buffer);
    readonly #files: File[] = [];
    #used = 0;
    #telling = false;
    #comparisons: Comparison[] = [];
    #texts = new Set<string>();
    #subject: unknown;

    /** The number of branches. */
    get used(): number {
        return this.#used;
    }

    /** The counters as pairs, to pass over what is zero. */
    get words(): Int32Array {
        return this.#words;
    }

    clear(): void {
        this.hits.fill(0, 0, this.#used);
    }

    /** Runs `work` and gives what it compared and asked for. */
    async watch(work: () => unknown): Promise<{ comparisons: readonly Comparison[]; texts: readonly string[] }> {
        this.#comparisons = [];
        this.#texts = new Set();
        this.#telling = true;
        try {
            await work();
        } finally {
            this.#telling = false;
        }
        return { comparisons: this.#comparisons, texts: [...this.#texts] };
    }

    /** What the sources name of which `isTouched` says that a branch was taken. */
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

    /** Which file a branch is of. */
    fileOf(probe: number): string {
        return this.#files.find(({ base, count }) => probe >= base && probe < base + count)?.name ?? "";
    }

    // What follows is called by instrumented code.

    reserve(name: string, count: number, tokens: readonly string[]): number {
        const base = this.#used;
        if (base + count > maxProbes) throw new RangeError(`more than ${maxProbes} branches: raise maxProbes`);
        this.#files.push({ name, base, count, tokens });
        this.#used += count;
        return base;
    }

    same(a: unknown, b: unknown): boolean {
        if (this.#telling) this.#tell(a, b);
        return a === b;
    }

    other(a: unknown, b: unknown): boolean {
        if (this.#telling) this.#tell(a, b);
        return a !== b;
    }

    less(a: never, b: never): boolean {
        if (this.#telling) this.#tell(a, b);
        return a < b;
    }

    atMost(a: never, b: never): boolean {
        if (this.#telling) this.#tell(a, b);
        return a <= b;
    }

    more(a: never, b: never): boolean {
        if (this.#telling) this.#tell(a, b);
        return a > b;
    }

    atLeast(a: never, b: never): boolean {
        if (this.#telling) this.#tell(a, b);
        return a >= b;
    }

    subject<T>(value: T): T {
        if (this.#telling) this.#subject = value;
        return value;
    }

    case<T>(value: T): T {
        if (this.#telling) this.#tell(this.#subject, value);
        return value;
    }

    asked<T>(value: T): T {
        if (this.#telling && typeof value === "string" && this.#texts.size < maxComparisons) this.#texts.add(value);
        return value;
    }

    #tell(a: unknown, b: unknown): void {
        if (a === b || this.#comparisons.length >= maxComparisons) return;
        if (isPlain(a) && isPlain(b)) this.#comparisons.push([a, b]);
    }
}

declare global {
    // A name that the instrumentation writes into code of other modules.
    var antreaProbes: Probes;
}

globalThis.antreaProbes = new Probes();
