import { KubeError } from "../errors.ts";
import { isRecord, statusError } from "../api/status.ts";
import { type KubeObject } from "../api/types.ts";

/** A decoded event of a watch: a change of an object, or a bookmark that only has a resourceVersion. */
export type WatchEvent<T> =
    | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: T; readonly resourceVersion: string }
    | { readonly type: "BOOKMARK"; readonly resourceVersion: string };

/**
 * Decodes one line of a watch. Throws KubeError: for an ERROR event the error it describes (`statusError`), for
 * anything invalid or unknown BAD_ANSWER. Only name and resourceVersion of the object are checked.
 */
export function decodeWatchEvent<T extends KubeObject>(line: string, what: string): WatchEvent<T> {
    let event: unknown;
    try {
        event = JSON.parse(line);
    } catch (cause) {
        throw new KubeError("BAD_ANSWER", `${what}: a line of the watch is no JSON`, { cause });
    }
    const object = isRecord(event) ? event.object : undefined;
    if (!isRecord(event) || !isRecord(object)) throw new KubeError("BAD_ANSWER", `${what}: a line is no watch event`);
    if (event.type === "ERROR") {
        throw statusError(what, typeof object.code === "number" ? object.code : 500, object);
    }
    const metadata = isRecord(object.metadata) ? object.metadata : {};
    const { resourceVersion, name } = metadata;
    if (typeof resourceVersion !== "string" || resourceVersion === "") {
        throw new KubeError("BAD_ANSWER", `${what}: a watch event has no metadata.resourceVersion`);
    }
    switch (event.type) {
        case "BOOKMARK":
            return { type: event.type, resourceVersion };
        case "ADDED":
        case "MODIFIED":
        case "DELETED":
            if (typeof name !== "string" || name === "") {
                throw new KubeError("BAD_ANSWER", `${what}: a watch event has no metadata.name`);
            }
            // The other fields are not checked; the server defines the type.
            return { type: event.type, object: object as T, resourceVersion };
        default:
            throw new KubeError("BAD_ANSWER", `${what}: unknown watch event ${nameOf(event.type)}`);
    }
}

// Only text is quoted: another value may be large, or too deep for JSON.stringify.
function nameOf(type: unknown): string {
    return typeof type === "string" ? JSON.stringify(type.slice(0, 40)) : `of type ${typeof type}`;
}
