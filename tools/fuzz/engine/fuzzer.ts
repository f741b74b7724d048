import { type Target } from "../target.ts";
import { mutateBytes } from "../mutate/bytes.ts";
import { replacements } from "../mutate/guided.ts";
import { mutateJson, nearText } from "../mutate/json.ts";
import { Corpus, type Entry } from "./corpus.ts";
import { type Executor, type Outcome } from "./executor.ts";
import { type Probes } from "./probes.ts";
import { Random } from "./random.ts";

export interface FuzzOptions {
    readonly seed: number;
    /** False: coverage is counted but not used. For comparison only. */
    readonly guided: boolean;
    /** Whether to continue; called before each round of mutations and repeatedly during it. */
    readonly goOn: (executions: number) => Promise<boolean>;
}

export interface FuzzComponents {
    readonly target: Target;
    readonly probes: Probes;
    readonly executor: Executor;
    /** Called before each execution, and after it. */
    readonly announce: (input: Uint8Array) => void;
    readonly rest: () => void;
    readonly found: (input: Uint8Array, outcome: Extract<Outcome, { key: string }>) => void;
    /** Called for each input with new coverage. */
    readonly added: (input: Uint8Array) => void;
}

export interface FuzzStatistics {
    readonly executions: number;
    /** Covered branches of the target's modules. */
    readonly edges: number;
    readonly probes: number;
    /** Covered pairs of branch and execution-count class. */
    readonly features: number;
    readonly corpus: number;
    readonly slowestMs: number;
}

const defaultMaxBytes = 4_096;
const maxReplacements = 1_500;
const maxTokens = 4_000;
const mutationsARound = 128;

/** Mutates inputs and keeps those with new coverage: a new branch, or a new class of execution counts. */
export class Fuzzer {
    readonly #components: FuzzComponents;
    readonly #options: FuzzOptions;
    readonly #random: Random;
    readonly #maxBytes: number;
    /** For each branch the observed count classes, one bit each. */
    readonly #seen: Uint8Array;
    readonly #tokens = new Set<string>();
    #tokenTexts: readonly string[] = [];
    #tokenBytes: readonly Uint8Array[] = [];
    readonly corpus = new Corpus();
    #executions = 0;
    #edges = 0;
    #features = 0;
    #slowestMs = 0;

    constructor(components: FuzzComponents, options: FuzzOptions) {
        this.#components = components;
        this.#options = options;
        this.#random = new Random(options.seed);
        this.#maxBytes = components.target.maxBytes ?? defaultMaxBytes;
        this.#seen = new Uint8Array(components.probes.hits.length);
    }

    get statistics(): FuzzStatistics {
        return {
            executions: this.#executions,
            edges: this.#edges,
            probes: this.#components.probes.used,
            features: this.#features,
            corpus: this.corpus.size,
            slowestMs: this.#slowestMs,
        };
    }

    /** Runs the target's seeds, which are always present, and other known inputs. */
    async begin(seeds: readonly Uint8Array[], inputs: readonly Uint8Array[]): Promise<void> {
        for (const seed of seeds) await this.#try(seed, true);
        this.corpus.markSeeds();
        for (const input of inputs) await this.#try(input, true);
        if (this.corpus.size === 0) await this.#try(new Uint8Array([0]), true);
        const { probes, target } = this.#components;
        this.#learn([...(target.tokens ?? []), ...probes.tokens((probe) => this.#seen[probe] !== 0)]);
    }

    /** Mutates until `goOn` returns false. */
    async run(): Promise<void> {
        while (await this.#options.goOn(this.#executions)) {
            const entry = this.corpus.next(this.#random);
            if (entry === undefined) return;
            if (this.#options.guided && !entry.compared) await this.#compare(entry);
            entry.rounds += 1;
            for (let count = 0; count < mutationsARound; count++) {
                if (count % 16 === 0 && !(await this.#options.goOn(this.#executions))) return;
                await this.#try(this.#mutated(entry.bytes), false);
            }
        }
    }

    #mutated(bytes: Uint8Array): Uint8Array {
        const random = this.#random;
        const other = (): Uint8Array => this.corpus.any(random);
        const { format } = this.#components.target;
        if (format === "json" && !random.oneIn(4)) {
            const text = mutateJson(decode(bytes), this.#tokenTexts, random, () => decode(other()));
            // Truncated it would not be valid JSON.
            const mutated = text === undefined ? undefined : encode(text);
            if (mutated !== undefined && mutated.length <= this.#maxBytes) return mutated;
        }
        if (format === "text" && !random.oneIn(3)) {
            let text = decode(bytes);
            for (let round = 1 << random.below(3); round > 0; round--) text = nearText(text, this.#tokenTexts, random);
            return encode(text).subarray(0, this.#maxBytes);
        }
        return mutateBytes(bytes, { random, tokens: this.#tokenBytes, other, maxBytes: this.#maxBytes });
    }

    /** Tries the values that the execution of this input compared it with. */
    async #compare(entry: Entry): Promise<void> {
        entry.compared = true;
        const { probes, executor } = this.#components;
        this.#components.announce(entry.bytes);
        const { comparisons, texts } = await probes.watch(() => executor.execute(entry.bytes));
        this.#components.rest();
        this.#learn([...texts, ...comparisons.flat().filter((side) => typeof side === "string")]);
        let count = 0;
        for (const input of replacements(entry.bytes, comparisons)) {
            if (count++ >= maxReplacements) return;
            if (count % 16 === 0 && !(await this.#options.goOn(this.#executions))) return;
            if (input.length <= this.#maxBytes) await this.#try(input, false);
        }
    }

    #learn(tokens: readonly string[]): void {
        const before = this.#tokens.size;
        for (const token of tokens) {
            if (token !== "" && token.length <= 64 && this.#tokens.size < maxTokens) this.#tokens.add(token);
        }
        if (this.#tokens.size === before) return;
        this.#tokenTexts = [...this.#tokens];
        this.#tokenBytes = this.#tokenTexts.map(encode);
    }

    async #try(input: Uint8Array, keep: boolean): Promise<void> {
        const { executor, announce, rest, found, added } = this.#components;
        announce(input);
        const began = performance.now();
        const outcome = await executor.execute(input);
        rest();
        this.#slowestMs = Math.max(this.#slowestMs, performance.now() - began);
        this.#executions += 1;
        if ("key" in outcome) found(input.slice(), outcome);
        const isNew = this.#updateCoverage();
        if (!isNew && !(keep && this.corpus.size === 0)) return;
        if (!this.#options.guided && !keep) return;
        // A seed near a limit is only run: its mutations would take all the time.
        if (input.length > this.#maxBytes) return;
        const bytes = input.slice();
        this.corpus.add({ bytes, probes: this.#taken(), rounds: 0, compared: false });
        if (!keep) added(bytes);
    }

    /** Whether the last execution had new coverage; records it. */
    #updateCoverage(): boolean {
        const { words, hits, used } = this.#components.probes;
        let isNew = false;
        const end = (used + 1) >> 1;
        for (let word = 0; word < end; word++) {
            if (words[word] === 0) continue;
            for (let probe = 2 * word; probe < 2 * word + 2; probe++) {
                const count = hits[probe] ?? 0;
                if (count === 0) continue;
                const bit = bucket(count);
                const seen = this.#seen[probe] ?? 0;
                if ((seen & bit) !== 0) continue;
                if (seen === 0) this.#edges += 1;
                this.#features += 1;
                this.#seen[probe] = seen | bit;
                isNew = true;
            }
        }
        return isNew;
    }

    #taken(): Int32Array {
        const { hits, used } = this.#components.probes;
        const taken: number[] = [];
        for (let probe = 0; probe < used; probe++) if (hits[probe] !== 0) taken.push(probe);
        return Int32Array.from(taken);
    }
}

/** One bit for each of: 1, 2, 3, 4–7, 8–15, 16–31, 32–127, more. */
function bucket(count: number): number {
    if (count <= 3) return 1 << (count - 1);
    if (count < 8) return 8;
    if (count < 16) return 16;
    if (count < 32) return 32;
    return count < 128 ? 64 : 128;
}

const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
