import { formatPrefix, type Prefix } from "@antrea/ip";
import { BlockView, type BlockViewComponents } from "./block-view.ts";

/** Maximum of open views, over all pools: each is a watch of the API server. */
const maxViews = 16;

/**
 * Open block views, 16 at most, shared by all pools because the name of an allocation is unique across pools. Counts their
 * users: a view without users is closed. Its owner calls `close` at the end, after which none must be acquired.
 */
export class Blocks {
    readonly #components: BlockViewComponents;
    readonly #views = new Map<string, { readonly view: BlockView; users: number }>();
    readonly #closing = new Set<Promise<void>>();
    readonly #stop = new AbortController();

    constructor(components: BlockViewComponents) {
        this.#components = components;
    }

    /** Number of open views. */
    get size(): number {
        return this.#views.size;
    }

    /**
     * Returns the view of a block (/24 or /120), opening it and starting its watch on first use; undefined if it is not open and
     * 16 others are. Each call that returns one must be paired with `release`.
     */
    acquire(block: Prefix): BlockView | undefined {
        const key = formatPrefix(block);
        const known = this.#views.get(key);
        if (known !== undefined) {
            known.users += 1;
            return known.view;
        }
        if (this.#views.size === maxViews) return undefined;
        const view = new BlockView(this.#components, block);
        view.informer.start(this.#stop.signal);
        this.#views.set(key, { view, users: 1 });
        return view;
    }

    /** Whether `release` would close the view, as it has one user. */
    hasOneUser(view: BlockView): boolean {
        const known = this.#views.get(formatPrefix(view.block));
        return known?.view === view && known.users === 1;
    }

    /**
     * Drops one reference to the view; the last one closes it, in the background. No effect on a view that is closed.
     */
    release(view: BlockView): void {
        const key = formatPrefix(view.block);
        const known = this.#views.get(key);
        if (known?.view !== view) return;
        known.users -= 1;
        if (known.users > 0) return;
        this.#views.delete(key);
        const closing = view.informer.close().finally(() => this.#closing.delete(closing));
        this.#closing.add(closing);
    }

    /** Ends all watches, also of acquired views, and waits for them. */
    async close(): Promise<void> {
        this.#stop.abort();
        await Promise.all([...this.#closing, ...[...this.#views.values()].map(({ view }) => view.informer.close())]);
        this.#views.clear();
    }
}
