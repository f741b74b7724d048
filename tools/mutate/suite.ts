/** One test, or one turn of it.each. */
export interface Test {
    /** Unique: the file, the blocks and the title. */
    readonly id: string;
    readonly file: string;
    readonly block: Block;
    readonly work: Work;
}

export type Work = () => unknown;

/** What describe makes; each file is one too. */
export interface Block {
    readonly id: string;
    readonly parent: Block | undefined;
    readonly beforeAll: Work[];
    readonly afterAll: Work[];
    readonly beforeEach: Work[];
    readonly afterEach: Work[];
}

/** Where in the suite the process is: a test, or the hooks around all tests of a block. */
export type Place = { readonly test: string } | { readonly block: string } | undefined;

export interface Failure {
    readonly test: string;
    readonly kind: "failed" | "hung";
    readonly text: string;
}

const limitOfHooksMs = 20_000;

/** The tests of a project, in one process, so that they can run again and again without being loaded again. */
export class Suite {
    readonly tests = new Map<string, Test>();
    /** Called as the process goes from one place to the next. */
    onPlace: (place: Place) => void = () => undefined;
    /** Called after each test and its hooks. */
    onEnd: () => void = () => undefined;
    #block: Block | undefined;
    #file = "";
    #stray: unknown;

    constructor() {
        // as with jest, what nobody waited for fails the test that runs
        const stray = (error: unknown): void => void (this.#stray ??= error ?? "rejected");
        process.on("uncaughtException", stray);
        process.on("unhandledRejection", stray);
    }

    /** The file whose tests are defined from now on. */
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

    /** The block that is being defined. */
    get block(): Block {
        if (this.#block === undefined) throw new TypeError("a test outside of a test file");
        return this.#block;
    }

    /** Whether something went wrong beside the tests since this was asked last. */
    takeStray(): boolean {
        const stray = this.#stray !== undefined;
        this.#stray = undefined;
        return stray;
    }

    /**
     * Runs these tests in their order, each within its limit in milliseconds, and the hooks around them; ends with the first failure.
     * `onPass` gets what each took in milliseconds.
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

    /** From within these blocks into those. */
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

/** A block after those it is in. */
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
