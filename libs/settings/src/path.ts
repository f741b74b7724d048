/** Location of a value: keys of maps and indexes of lists. */
export type Path = readonly (string | number)[];

/** Formats a path: `["a", "b", 1]` as `a.b[1]`. */
export function formatPath(path: Path): string {
    return path.reduce<string>((text, step) => {
        if (typeof step === "number") return `${text}[${step}]`;
        return text === "" ? step : `${text}.${step}`;
    }, "");
}

/** Returns the value at a path; undefined if the path does not exist. */
export function valueAt(root: unknown, path: Path): unknown {
    let value = root;
    for (const step of path) {
        if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
        value = (value as Record<string | number, unknown>)[step];
    }
    return value;
}

/**
 * Returns a copy without the map key at the end of the path; `root` is not changed. A path that does not exist, or ends
 * at a member of a list, removes nothing.
 */
export function without(root: unknown, path: Path): unknown {
    const [step, ...rest] = path;
    if (step === undefined || typeof root !== "object" || root === null) return root;
    if (Array.isArray(root))
        return root.map((item, index) => (index === step ? without(item, rest) : (item as unknown)));
    const entries = Object.entries(root);
    if (rest.length === 0) return Object.fromEntries(entries.filter(([key]) => key !== step));
    return Object.fromEntries(entries.map(([key, value]) => [key, key === step ? without(value, rest) : value]));
}

/**
 * Returns the path up to the first list index. A list without one of its members would mean something else, so an
 * invalid list is removed as a whole.
 */
export function upToList(path: Path): Path {
    const firstIndex = path.findIndex((step) => typeof step === "number");
    return firstIndex < 0 ? path : path.slice(0, firstIndex);
}
