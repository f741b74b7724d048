import { messageOf } from "@antrea/errors";
import { formatIp, type Family } from "@antrea/ip";
import { NetworkError } from "./error.ts";
import { type NetworkSelection } from "./network-selection.ts";
import { refused } from "./refused-selection.ts";
import { draftOf, shortForm, type Draft } from "./selection-draft.ts";

/** Limit of the networks of one annotation; more are `INVALID_SELECTION`. */
export const maxNetworks = 32;

/**
 * Parses the annotation of a Pod in `podNamespace`: a JSON list of elements, or `name`, `namespace/name`, each with
 * `@interface` behind it if wanted, joined by commas. An empty text and an empty list request nothing. More than
 * `maxNetworks`, two with the same interface or MAC address, or two default routes of a family, are invalid, as are
 * eth0 and lo. Throws NetworkError `INVALID_SELECTION` for the first rule that is broken.
 */
export function parseSelections(text: string, podNamespace: string): readonly NetworkSelection[] {
    const drafts = draftsOf(text, podNamespace);
    if (drafts.length > maxNetworks) {
        throw refused("", drafts.length, `networks exceed the limit of ${maxNetworks}`, "request fewer networks");
    }
    checkUnique(drafts, "interface", ({ interfaceName }) => interfaceName);
    checkUnique(drafts, "mac", ({ mac }) => mac);
    checkDefaultRoutes(drafts);
    return named(drafts);
}

/**
 * Whether a Pod with this annotation may have an interface of the name: a requested one, one that `parseSelections` gives,
 * or net1, net2, … of Multus, which counts networks of its own settings too. True for all names if the annotation breaks
 * a rule, as it may be wrong temporarily.
 */
export function mayHaveInterface(text: string, podNamespace: string, name: string): boolean {
    try {
        const selections = parseSelections(text, podNamespace);
        if (selections.length > 0 && /^net[0-9]+$/.test(name)) return true;
        return selections.some(({ interfaceName }) => interfaceName === name);
    } catch (error) {
        if (error instanceof NetworkError) return true;
        throw error;
    }
}

function draftsOf(text: string, podNamespace: string): readonly Draft[] {
    const trimmed = text.trim();
    if (trimmed === "") return [];
    if (!trimmed.startsWith("[") && !trimmed.startsWith("{")) {
        return trimmed.split(",").map((item, index) => shortForm(item.trim(), `item ${index + 1}`, podNamespace));
    }
    const value = parseJson(trimmed);
    if (!Array.isArray(value)) {
        throw refused(
            "",
            text,
            "is neither a JSON list nor names joined by commas",
            'write [{"name": "net1"}] or net1',
        );
    }
    return value.map((element: unknown, index) => draftOf(withoutEmpty(element), `element ${index + 1}`, podNamespace));
}

/** Other readers of the annotation take an empty text for none. */
function withoutEmpty(element: unknown): unknown {
    if (typeof element !== "object" || element === null || Array.isArray(element)) return element;
    const optional = new Set(["namespace", "interface", "mac"]);
    return Object.fromEntries(Object.entries(element).filter(([key, value]) => value !== "" || !optional.has(key)));
}

function parseJson(text: string): unknown {
    try {
        return JSON.parse(text);
    } catch (error) {
        throw refused("", text, `is not valid JSON (${messageOf(error)})`, 'write [{"name": "net1"}] or net1');
    }
}

function checkUnique(drafts: readonly Draft[], key: string, valueOf: (draft: Draft) => string | undefined): void {
    const seen = new Map<string, string>();
    for (const draft of drafts) {
        const value = valueOf(draft);
        if (value === undefined) continue;
        const first = seen.get(value);
        if (first !== undefined) {
            const next = `change one of the two, or remove it`;
            throw refused(`${draft.path}.${key}`, value, `is requested by ${first} too`, next);
        }
        seen.set(value, draft.path);
    }
}

function checkDefaultRoutes(drafts: readonly Draft[]): void {
    const seen = new Map<Family, string>();
    for (const { path, defaultRoute } of drafts) {
        for (const gateway of defaultRoute) {
            const first = seen.get(gateway.family);
            if (first !== undefined) {
                const rule = `is a second default route of IPv${gateway.family}, after that of ${first}`;
                throw refused(`${path}.default-route`, formatIp(gateway), rule, "keep one of each family");
            }
            seen.set(gateway.family, path);
        }
    }
}

function named(drafts: readonly Draft[]): readonly NetworkSelection[] {
    const requested = new Set(drafts.map(({ interfaceName }) => interfaceName));
    let number = 0;
    const nextName = (): string => {
        do number += 1;
        while (requested.has(`eth${number}`));
        return `eth${number}`;
    };
    return drafts.map(({ namespace, name, interfaceName, mac, ips, defaultRoute, ignored }) => ({
        namespace,
        name,
        interfaceName: interfaceName ?? nextName(),
        mac,
        ips,
        defaultRoute,
        ignored,
    }));
}
