/** One operation of a JSON patch (RFC 6902). */
export type JsonPatchOperation =
    | { readonly op: "add" | "replace" | "test"; readonly path: string; readonly value: unknown }
    | { readonly op: "remove"; readonly path: string }
    | { readonly op: "move" | "copy"; readonly path: string; readonly from: string };

/**
 * A change to an object:
 *
 * - `merge` (RFC 7386): null removes a field. A `metadata.resourceVersion` in it must fit, else CONFLICT; that makes it
 *   optimistic. Another object's `metadata.uid` is INVALID, and ignored on the status of a custom resource: it fences
 *   nothing.
 * - `strategic`: as `kubectl patch`, lists merged by their key; built-in kinds only.
 * - `json` (RFC 6902): operations in order, a failed `test` is INVALID.
 * - `apply`: server-side apply; needs a field manager.
 */
export type Patch =
    | { readonly type: "merge" | "strategic" | "apply"; readonly body: Readonly<Record<string, unknown>> }
    | { readonly type: "json"; readonly body: readonly JsonPatchOperation[] };

export const patchContentTypes = {
    merge: "application/merge-patch+json",
    strategic: "application/strategic-merge-patch+json",
    json: "application/json-patch+json",
    apply: "application/apply-patch+yaml",
} as const;

/** `metadata/annotations` and a key, escaped for a JSON pointer (RFC 6901): `pointer("metadata", "a/b")`. */
export function pointer(...segments: readonly string[]): string {
    return segments.map((segment) => `/${segment.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** Sets annotations; null removes one. */
export function annotationsPatch(annotations: Readonly<Record<string, string | null>>): Patch {
    return { type: "merge", body: { metadata: { annotations } } };
}

/** Makes a merge patch hold only for this very state of the object, else CONFLICT. */
export function onlyIf(
    patch: Extract<Patch, { readonly type: "merge" | "strategic" | "apply" }>,
    state: { readonly uid?: string; readonly resourceVersion?: string },
): Patch {
    const metadata = (patch.body.metadata ?? {}) as Readonly<Record<string, unknown>>;
    return { ...patch, body: { ...patch.body, metadata: { ...metadata, ...state } } };
}
