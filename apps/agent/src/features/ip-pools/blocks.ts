import { formatPrefix, type Prefix } from "@antrea/ip";
import { BlockView, type BlockViewComponents } from "./block-view.ts";

/** The views of the blocks that are in use, shared by all pools: an address is claimed for all of them. */
export class Blocks {
    readonly #components: BlockViewComponents;
    readonly #views = new Map<string, { readonly view: BlockView; users: number }>();
    readonly #closing = new Set<Promise<void>>();
    readonly #stop = new AbortController();

    constructor(components: BlockViewComponents) {
        this.#components = components;
    }

    /** How many views are open. */
    get size(): number {
        return this.#views.size;
    }

    /** The view of a block, opened if nobody has it yet. Each is to be given back with `release`. */
    acquire(block: Prefix): BlockView {
        const key = formatPrefix(block);
        const known = this.#views.get(key);
        if (known !== undefined) {
            known.users += 1;
            return known.view;
        }
        const view = new BlockView(this.#components, block);
        view.start(this.#stop.signal);
        this.#views.set(key, { view, users: 1 });
        return view;
    }

    /** The last one to give a view back closes it. */
    release(view: BlockView): void {
        const key = formatPrefix(view.block);
        const known = this.#views.get(key);
        if (known?.view !== view) return;
        known.users -= 1;
        if (known.users > 0) return;
        this.#views.delete(key);
        const closing = view.close().finally(() => this.#closing.delete(closing));
        this.#closing.add(closing);
    }

    /** Ends all watches. */
    async close(): Promise<void> {
        this.#stop.abort();
        await Promise.all([...this.#closing, ...[...this.#views.values()].map(({ view }) => view.close())]);
        this.#views.clear();
    }
}
