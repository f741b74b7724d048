import { type Random } from "../engine/random.ts";
import { interesting } from "./numbers.ts";

type JsonRecord = Record<string, unknown>;

/** Mutates the value of a JSON text and serializes it again; undefined for invalid JSON. */
export function mutateJson(
    text: string,
    tokens: readonly string[],
    random: Random,
    other: () => string,
): string | undefined {
    let root: unknown;
    try {
        root = JSON.parse(text) as unknown;
    } catch {
        return undefined;
    }
    const box: JsonRecord = { root };
    const rounds = 1 << random.below(3);
    let mutated: string | undefined;
    try {
        for (let round = 0; round < rounds; round++) change(box, tokens, random, other);
        mutated = JSON.stringify(box.root);
    } catch (error) {
        // A value that is nested too deeply can be neither copied nor serialized.
        if (error instanceof RangeError) return undefined;
        throw error;
    }
    return mutated?.replace(deepMark, (_mark, depth: string) => deepText(Number(depth)));
}

// Placeholder for a value that is nested too deeply for JSON.stringify.
const deepMark = /"deep (\d{1,5}) deep"/g;

function deepText(depth: number): string {
    return depth % 3 === 0
        ? `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`
        : `${"[".repeat(depth)}${"]".repeat(depth)}`;
}

/** Changes one node, found by a random walk from the root. */
function change(box: JsonRecord, tokens: readonly string[], random: Random, other: () => string): void {
    let parent: JsonRecord = box;
    let key = "root";
    for (;;) {
        const value = parent[key];
        if (typeof value !== "object" || value === null || random.oneIn(6)) break;
        const keys = Object.keys(value);
        if (keys.length === 0) break;
        parent = value as JsonRecord;
        key = random.pick(keys) ?? key;
    }
    const value = parent[key];
    switch (random.below(10)) {
        case 0:
            delete parent[key];
            return;
        case 1:
            addMember(value, tokens, random);
            return;
        case 2:
            if (Array.isArray(value)) value.push(...repeated(value, random));
            else rename(parent, key, tokens, random);
            return;
        case 3:
            parent[key] = nested(value, random);
            return;
        case 4:
            parent[key] = part(other(), random) ?? null;
            return;
        case 5:
        case 6:
            parent[key] = random.oneIn(2) ? (random.pick(tokens) ?? "") : anyValue(random);
            return;
        default:
            parent[key] = near(value, tokens, random);
    }
}

function addMember(value: unknown, tokens: readonly string[], random: Random): void {
    if (Array.isArray(value)) value.splice(random.below(value.length + 1), 0, anyValue(random));
    else if (typeof value === "object" && value !== null) {
        // A plain assignment of __proto__ would not create a member of that name.
        const name = random.oneIn(16) ? "__proto__" : (random.pick(tokens) ?? "x");
        Object.defineProperty(value, name, {
            value: random.oneIn(3) ? (random.pick(tokens) ?? "") : anyValue(random),
            enumerable: true,
            configurable: true,
            writable: true,
        });
    }
}

function repeated(value: readonly unknown[], random: Random): readonly unknown[] {
    const item = structuredClone(random.pick(value) ?? null);
    return Array.from({ length: random.oneIn(8) ? 1 + random.below(100) : 1 }, () => item);
}

function rename(parent: JsonRecord, key: string, tokens: readonly string[], random: Random): void {
    if (Array.isArray(parent) || key === "root") return;
    const value = parent[key];
    delete parent[key];
    parent[random.pick(tokens) ?? "x"] = value;
}

/** Wraps the value in arrays or objects, occasionally very deep. */
function nested(value: unknown, random: Random): unknown {
    if (random.oneIn(12)) return `deep ${1_000 << random.below(5)} deep`;
    const depth = random.oneIn(8) ? 1 << (3 + random.below(4)) : 1;
    let result = value;
    for (let level = 0; level < depth; level++) result = level % 3 === 2 ? { a: result } : [result];
    return result;
}

function part(text: string, random: Random): unknown {
    let value: unknown;
    try {
        value = JSON.parse(text) as unknown;
    } catch {
        return undefined;
    }
    while (typeof value === "object" && value !== null && !random.oneIn(4)) {
        const next = random.pick(Object.values(value));
        if (next === undefined) break;
        value = next;
    }
    return value;
}

const plain: readonly unknown[] = [
    null,
    true,
    false,
    "",
    [],
    {},
    0,
    -1,
    1.5,
    1e308,
    -0,
    "0",
    " ",
    "\u0000",
    "\ud800",
    "é",
    "__proto__",
    "constructor",
];

function anyValue(random: Random): unknown {
    if (random.oneIn(4)) return random.pick(interesting);
    return structuredClone(random.pick(plain));
}

/** A value similar to this one. */
function near(value: unknown, tokens: readonly string[], random: Random): unknown {
    if (typeof value === "number") {
        return random.oneIn(2)
            ? value + random.below(9) - 4
            : (random.pick(interesting) ?? 0) * (random.oneIn(4) ? -1 : 1);
    }
    if (typeof value === "boolean") return !value;
    if (typeof value === "string") return nearText(value, tokens, random);
    return anyValue(random);
}

/** A text similar to this one: characters or tokens inserted, removed or replaced. */
export function nearText(text: string, tokens: readonly string[], random: Random): string {
    const at = random.below(text.length + 1);
    const token = random.pick(tokens) ?? "";
    switch (random.below(7)) {
        case 0:
            return text.slice(0, at) + text.slice(at + 1 + random.below(4));
        case 1:
            return text.slice(0, at) + token + text.slice(at);
        case 2:
            return text.slice(0, at) + token + text.slice(at + token.length);
        case 3: {
            const digit = /\d+/.exec(text.slice(at));
            if (digit === null) return text.slice(0, at);
            return (
                text.slice(0, at + digit.index) +
                String(random.pick(interesting)) +
                text.slice(at + digit.index + digit[0].length)
            );
        }
        case 4:
            return text.slice(0, at) + String.fromCharCode(32 + random.below(95)) + text.slice(at + 1);
        case 5:
            return random.oneIn(16) ? text.slice(0, 8).repeat(1 + random.below(200)) : text.slice(0, at) + text;
        default:
            return (
                text.slice(0, at) +
                (random.pick([",", ":", ".", "/", "-", " ", "\n", "=", ";", "0", "::", "%", '"']) ?? "") +
                text.slice(at)
            );
    }
}
