interface Change {
    /** What the kernel has. */
    readonly before: string | undefined;
    readonly after: string | undefined;
}

/** So many elements stand in one command at most, to keep its line short. */
const commandElements = 1_000;

/**
 * The elements of the sets and maps of one nftables table that are changed singly: those that it should have, and those
 * of them that the kernel does not have yet. An element and its value are text as `nft -n` lists them; the value of an
 * element of a set is "".
 */
export class NftElements {
    readonly #sets: ReadonlyMap<string, Map<string, string>>;
    readonly #changes = new Map<string, Map<string, Change>>();

    /** @param sets the names of the sets and maps; elements of others have no effect */
    constructor(sets: readonly string[]) {
        this.#sets = new Map(sets.map((name) => [name, new Map()]));
    }

    /** Whether there are sets at all. */
    get isUsed(): boolean {
        return this.#sets.size > 0;
    }

    /** Adds an element, or replaces its value; undefined: removes it. Returns false, without effect, if it is so already. */
    set(set: string, element: string, value: string | undefined): boolean {
        const elements = this.#sets.get(set);
        if (elements === undefined) return false;
        const now = elements.get(element);
        if (now === value) return false;
        const changes = this.#changes.get(set) ?? new Map<string, Change>();
        const { before } = changes.get(element) ?? { before: now };
        if (before === value) changes.delete(element);
        else changes.set(element, { before, after: value });
        if (changes.size > 0) this.#changes.set(set, changes);
        else this.#changes.delete(set);
        if (value === undefined) elements.delete(element);
        else elements.set(element, value);
        return true;
    }

    /** The commands of nft(8) that add all elements to a new table. */
    all(table: string): string {
        return commands("add", table, this.#sets);
    }

    /** Takes the changes that the kernel does not have, as commands of nft(8); "" if there are none. */
    takeChanges(table: string): { readonly script: string; readonly restore: () => void } {
        const changes = new Map(this.#changes);
        this.#changes.clear();
        const removed = new Map<string, Map<string, string>>();
        const added = new Map<string, Map<string, string>>();
        for (const [set, elements] of changes) {
            for (const [element, { before, after }] of elements) {
                if (before !== undefined) put(removed, set, element, before);
                if (after !== undefined) put(added, set, element, after);
            }
        }
        return {
            // a value is replaced by deletion first: an element that is there with another one cannot be added
            script: commands("delete", table, removed) + commands("add", table, added),
            restore: () => {
                for (const [set, elements] of changes) this.#restore(set, elements);
            },
        };
    }

    /** The kernel has all elements now. */
    clearChanges(): void {
        this.#changes.clear();
    }

    /** Whether a listing of the table by `nft -n` has the elements without the changes that were not taken. */
    isListed(listing: string): boolean {
        const found = elementsIn(listing);
        for (const [set, elements] of this.#sets) {
            const listed = found.get(set);
            if (listed === undefined) return false;
            const changes = this.#changes.get(set);
            let expected = 0;
            for (const [element, value] of elements) {
                const change = changes?.get(element);
                const before = change === undefined ? value : change.before;
                if (before === undefined) continue;
                expected += 1;
                if (listed.get(element) !== before) return false;
            }
            for (const [element, { before, after }] of changes ?? []) {
                if (after !== undefined || before === undefined) continue;
                expected += 1;
                if (listed.get(element) !== before) return false;
            }
            if (listed.size !== expected) return false;
        }
        return true;
    }

    /** The listing without the elements of these sets. */
    structure(listing: string): string {
        if (!this.isUsed) return listing;
        return listing.replace(setBlock, (block, name: string) =>
            this.#sets.has(name) ? block.replace(elementBlock, "") : block,
        );
    }

    #restore(set: string, taken: ReadonlyMap<string, Change>): void {
        const changes = this.#changes.get(set) ?? new Map<string, Change>();
        for (const [element, { before }] of taken) {
            const after = this.#sets.get(set)?.get(element);
            if (before === after) changes.delete(element);
            else changes.set(element, { before, after });
        }
        if (changes.size > 0) this.#changes.set(set, changes);
    }
}

const setBlock = /^\t(?:set|map) (\S+) \{\n[\s\S]*?^\t\}$/gm;
const elementBlock = /^\t\telements = \{([^}]*)\}\n/m;

function elementsIn(listing: string): ReadonlyMap<string, ReadonlyMap<string, string>> {
    const found = new Map<string, ReadonlyMap<string, string>>();
    for (const [block, name = ""] of listing.matchAll(setBlock)) {
        const text = elementBlock.exec(block)?.[1]?.trim() ?? "";
        const entries = text === "" ? [] : text.split(/,\s*/);
        found.set(name, new Map(entries.map(entryOf)));
    }
    return found;
}

/** As the C library writes addresses of ::/96, unlike RFC 5952: `::192.0.2.1`. */
const dotted = /(?<![0-9a-f:])::(\d+)\.(\d+)\.(\d+)\.(\d+)/g;

/** ` : ` is no part of an address of IPv6. */
function entryOf(listed: string): readonly [element: string, value: string] {
    const text = listed.replace(dotted, (_, ...bytes: readonly string[]) => {
        const [a = 0, b = 0, c = 0, d = 0] = bytes.slice(0, 4).map(Number);
        return `::${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
    });
    const at = text.indexOf(" : ");
    return at < 0 ? [text.trim(), ""] : [text.slice(0, at).trim(), text.slice(at + 3).trim()];
}

function put(all: Map<string, Map<string, string>>, set: string, element: string, value: string): void {
    const elements = all.get(set) ?? new Map<string, string>();
    all.set(set, elements.set(element, value));
}

function commands(
    verb: "add" | "delete",
    table: string,
    sets: ReadonlyMap<string, ReadonlyMap<string, string>>,
): string {
    const lines: string[] = [];
    for (const [set, elements] of sets) {
        const texts = Array.from(elements, ([element, value]) => (value === "" ? element : `${element} : ${value}`));
        for (let from = 0; from < texts.length; from += commandElements) {
            const some = texts.slice(from, from + commandElements).join(", ");
            lines.push(`${verb} element ${table} ${set} { ${some} }\n`);
        }
    }
    return lines.join("");
}
