import assert from "node:assert/strict";

/** One test, or one case of it.each. */
export interface Test {
    /** Unique: the file, the blocks and the title. */
    readonly id: string;
    readonly file: string;
    readonly block: Block;
    readonly work: Work;
}

export type Work = () => unknown;

/** Created by describe; each file is one too. */
export interface Block {
    readonly id: string;
    readonly parent: Block | undefined;
    readonly beforeAll: Work[];
    readonly afterAll: Work[];
    readonly beforeEach: Work[];
    readonly afterEach: Work[];
}

/** The current position in the suite: a test, or the hooks around all tests of a block. */
export type Place = { readonly test: string } | { readonly block: string } | undefined;

export interface Failure {
    readonly test: string;
    readonly kind: "failed" | "hung";
    readonly text: string;
}

const limitOfHooksMs = 20_000;

/** The tests of a project, in one process, so that they can run repeatedly without being loaded again. */
export class Suite {
    readonly tests = new Map<string, Test>();
    /** Called when the position changes. */
    onPlace: (place: Place) => void = () => undefined;
    /** Called after each test and its hooks. */
    onEnd: () => void = () => undefined;
    #block: Block | undefined;
    #file = "";
    #stray: unknown;

    constructor() {
        // as in jest, an unhandled error fails the running test
        const stray = (error: unknown): void => void (this.#stray ??= error ?? "rejected");
        process.on("uncaughtException", stray);
        process.on("unhandledRejection", stray);
    }

    /** Sets the file of the tests that are defined next. */
    open(file: string): void {
        this.#file = file;
        this.#block = newBlock(file, undefined);
    }

    describe(title: string, define: Work): void {
        const outer = this.block;
        this.#block = newBlock(`${outer.id} › ${title}`, outer);
        define();
        this.#block = outer;
    }

    it(title: string, work: Work): void {
        let id = `${this.block.id} › ${title}`;
        for (let turn = 2; this.tests.has(id); turn += 1) id = `${this.block.id} › ${title} (${turn})`;
        this.tests.set(id, { id, file: this.#file, block: this.block, work });
    }

    /** The block being defined. */
    get block(): Block {
        assert(this.#block !== undefined, "a test outside of a test file");
        return this.#block;
    }

    /** Whether an error occurred outside of tests since the last call. */
    takeStray(): boolean {
        const stray = this.#stray !== undefined;
        this.#stray = undefined;
        return stray;
    }

    /**
     * Runs these tests in order, each within its limit in milliseconds, with the hooks around them; stops at the
     * first failure. `onPass` receives the milliseconds of each.
     */
    async run(
        ids: Iterable<string>,
        limitOf: (id: string) => number,
        onPass: (id: string, ms: number) => void = () => undefined,
    ): Promise<Failure | undefined> {
        let at: readonly Block[] = [];
        const tests = [...ids].map((id) => this.tests.get(id)).filter((test) => test !== undefined);
        let last = "";
        try {
            for (const test of tests) {
                last = test.id;
                at = await this.#goTo(lineOf(test.block), at);
                this.onPlace({ test: test.id });
                const began = performance.now();
                await inTime(() => this.#runOne(test), limitOf(test.id));
                if (this.#stray !== undefined) throw new Stray(this.#stray);
                onPass(test.id, performance.now() - began);
            }
            await this.#goTo([], at);
            return undefined;
        } catch (error) {
            if (error instanceof Hung) return { test: last, kind: "hung", text: error.message };
            await this.#goTo([], at).catch(() => undefined);
            return { test: last, kind: "failed", text: error instanceof Error ? error.message : String(error) };
        } finally {
            this.onPlace(undefined);
        }
    }

    async #runOne({ block, work }: Test): Promise<void> {
        const blocks = lineOf(block);
        try {
            for (const { beforeEach } of blocks) for (const hook of beforeEach) await hook();
            await work();
        } finally {
            try {
                for (const { afterEach } of blocks.toReversed()) for (const hook of afterEach) await hook();
            } finally {
                this.onEnd();
            }
        }
    }

    /** Leaves and enters blocks. */
    async #goTo(to: readonly Block[], from: readonly Block[]): Promise<readonly Block[]> {
        const shared = to.findIndex((block, at) => from[at] !== block);
        const same = shared === -1 ? Math.min(to.length, from.length) : shared;
        for (const { id, afterAll } of from.slice(same).toReversed()) {
            this.onPlace({ block: id });
            for (const hook of afterAll) await inTime(hook, limitOfHooksMs);
        }
        for (const { id, beforeAll } of to.slice(same)) {
            this.onPlace({ block: id });
            for (const hook of beforeAll) await inTime(hook, limitOfHooksMs);
        }
        return to;
    }
}

/** A block preceded by its ancestors. */
export function lineOf(block: Block): readonly Block[] {
    return block.parent === undefined ? [block] : [...lineOf(block.parent), block];
}

function newBlock(id: string, parent: Block | undefined): Block {
    return { id, parent, beforeAll: [], afterAll: [], beforeEach: [], afterEach: [] };
}

class Hung extends Error {}

class Stray extends Error {
    constructor(cause: unknown) {
        super(`not awaited: ${String(cause)}`, { cause });
    }
}

async function inTime(work: Work, limitMs: number): Promise<void> {
    const { promise, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Hung(`not done after ${limitMs} ms`)), limitMs);
    try {
        await Promise.race([Promise.resolve(work()), promise]);
    } finally {
        clearTimeout(timer);
    }
}
