import { type Family } from "./address.ts";
import { type IpRange } from "./range.ts";

/** A range in a RangeIndex, with the key under which it was set and the value of that key. */
export interface IndexedRange<T> {
    readonly key: string;
    readonly range: IpRange;
    readonly value: T;
}

/**
 * Finds the ranges that overlap a given range. The stored ranges may overlap each other, within a key too. `set` and
 * `delete` take O(m log n) for the m ranges of the key; `overlapping` takes O(log n) for each range it finds.
 *
 * One treap per family, ordered by first address; each node stores the highest last address of its subtree.
 */
export class RangeIndex<T> {
    readonly #roots: Record<Family, Node<T> | undefined> = { 4: undefined, 6: undefined };
    readonly #nodes = new Map<string, readonly Node<T>[]>();
    #serial = 0;

    /** Replaces all ranges of the key by these, each with this value. */
    set(key: string, ranges: readonly IpRange[], value: T): void {
        this.delete(key);
        this.#nodes.set(
            key,
            ranges.map((range) => this.#insert({ key, range, value })),
        );
    }

    /** Removes all ranges of the key, if it has any. */
    delete(key: string): void {
        for (const node of this.#nodes.get(key) ?? []) this.#remove(node);
        this.#nodes.delete(key);
    }

    /**
     * Returns the ranges that share an address with this one, ordered by first address, then by the order in which they
     * were set.
     */
    overlapping(range: IpRange): readonly IndexedRange<T>[] {
        const found: IndexedRange<T>[] = [];
        collect(this.#roots[range.family], range, found);
        return found;
    }

    #insert(item: IndexedRange<T>): Node<T> {
        const serial = this.#serial;
        this.#serial += 1;
        const node: Node<T> = {
            item,
            serial,
            priority: scramble(serial),
            reach: item.range.last,
            left: undefined,
            right: undefined,
        };
        const [before, after] = split(this.#roots[item.range.family], item.range.first, serial);
        this.#roots[item.range.family] = join(join(before, node), after);
        return node;
    }

    #remove({ item: { range }, serial }: Node<T>): void {
        const [before, rest] = split(this.#roots[range.family], range.first, serial);
        const [, after] = split(rest, range.first, serial + 1);
        this.#roots[range.family] = join(before, after);
    }
}

interface Node<T> {
    readonly item: IndexedRange<T>;
    readonly serial: number;
    readonly priority: number;
    /** The highest last address in the subtree of this node. */
    reach: bigint;
    left: Node<T> | undefined;
    right: Node<T> | undefined;
}

function collect<T>(node: Node<T> | undefined, range: IpRange, found: IndexedRange<T>[]): void {
    if (node === undefined || node.reach < range.first) return;
    collect(node.left, range, found);
    if (node.item.range.first > range.last) return;
    if (node.item.range.last >= range.first) found.push(node.item);
    collect(node.right, range, found);
}

/** Splits the tree into the nodes before (first, serial) and the others. */
function split<T>(
    node: Node<T> | undefined,
    first: bigint,
    serial: number,
): [before: Node<T> | undefined, after: Node<T> | undefined] {
    if (node === undefined) return [undefined, undefined];
    const own = node.item.range.first;
    if (own < first || (own === first && node.serial < serial)) {
        const [before, after] = split(node.right, first, serial);
        node.right = before;
        return [renewed(node), after];
    }
    const [before, after] = split(node.left, first, serial);
    node.left = after;
    return [before, renewed(node)];
}

/** Merges two trees into one; all nodes of `a` come before those of `b`. */
function join<T>(a: Node<T> | undefined, b: Node<T> | undefined): Node<T> | undefined {
    if (a === undefined || b === undefined) return a ?? b;
    if (a.priority >= b.priority) {
        a.right = join(a.right, b);
        return renewed(a);
    }
    b.left = join(a, b.left);
    return renewed(b);
}

function renewed<T>(node: Node<T>): Node<T> {
    let reach = node.item.range.last;
    if (node.left !== undefined && node.left.reach > reach) reach = node.left.reach;
    if (node.right !== undefined && node.right.reach > reach) reach = node.right.reach;
    node.reach = reach;
    return node;
}

// Pseudorandom priorities keep a treap balanced whatever the order of insertion (finaliser of MurmurHash3).
function scramble(serial: number): number {
    let hash = serial | 0;
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return (hash ^ (hash >>> 16)) >>> 0;
}
