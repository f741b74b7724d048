/** One operation of a JSON patch (RFC 6902); `path` and `from` are JSON pointers, see `pointer`. */
export type JsonPatchOperation =
    | { readonly op: "add" | "replace" | "test"; readonly path: string; readonly value: unknown }
    | { readonly op: "remove"; readonly path: string }
    | { readonly op: "move" | "copy"; readonly path: string; readonly from: string };

/**
 * A change of an object:
 *
 * - `merge` (RFC 7386): null removes a field. A `metadata.resourceVersion` in it must be the current one, else CONFLICT
 *   (optimistic locking). A `metadata.uid` of another object is INVALID, but ignored on the status of a custom
 *   resource, where it is no protection.
 * - `strategic`: as `kubectl patch`, lists merged by their key; built-in kinds only.
 * - `json` (RFC 6902): operations in order; a failed `test` is INVALID.
 * - `apply`: server-side apply, which creates an absent object; fields of other managers are a CONFLICT without
 *   `force`.
 */
export type Patch =
    | { readonly type: "merge" | "strategic" | "apply"; readonly body: Readonly<Record<string, unknown>> }
    | { readonly type: "json"; readonly body: readonly JsonPatchOperation[] };

/** Content-Type of a request with each type of patch. */
export const patchContentTypes = {
    merge: "application/merge-patch+json",
    strategic: "application/strategic-merge-patch+json",
    json: "application/json-patch+json",
    apply: "application/apply-patch+yaml",
} as const;

/** Returns a JSON pointer (RFC 6901) of these segments, escaped: `pointer("metadata", "a/b")` is `/metadata/a~1b`. */
export function pointer(...segments: readonly string[]): string {
    return segments.map((segment) => `/${segment.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** Returns a merge patch that sets these annotations; null removes one. */
export function annotationsPatch(annotations: Readonly<Record<string, string | null>>): Patch {
    return { type: "merge", body: { metadata: { annotations } } };
}

/**
 * Returns the patch with a precondition: the object must have this UID and resourceVersion, else CONFLICT (see {@link
 * Patch} about the UID). A field that is absent is no condition.
 */
export function onlyIf(
    patch: Extract<Patch, { readonly type: "merge" | "strategic" | "apply" }>,
    state: { readonly uid?: string; readonly resourceVersion?: string },
): Patch {
    const metadata = (patch.body.metadata ?? {}) as Readonly<Record<string, unknown>>;
    return { ...patch, body: { ...patch.body, metadata: { ...metadata, ...state } } };
}
