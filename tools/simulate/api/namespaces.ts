import { type KubeObject } from "@antrea/kube";
import { Refusal } from "./answer.ts";
import { type Kind } from "./kinds.ts";

/** The fields of a Namespace besides its metadata. */
interface Rest {
    readonly spec?: { readonly finalizers?: readonly string[] };
    readonly status?: { readonly phase?: string };
}

/** The Namespaces that cannot be deleted. */
const immortal = new Set(["default", "kube-system", "kube-public"]);

/** Whether the kind is Namespace. */
export function isNamespace({ resource }: Kind): boolean {
    return resource.plural === "namespaces";
}

/** A new Namespace with the finalizer `kubernetes`. */
export function newNamespace(object: KubeObject): KubeObject {
    return { ...object, spec: { finalizers: ["kubernetes"] }, status: { phase: "Active" } } as KubeObject;
}

/** Throws Refusal 403 for a Namespace that cannot be deleted. */
export function checkDeletable(name: string): void {
    if (immortal.has(name))
        throw new Refusal(403, `namespaces "${name}" is forbidden: this namespace may not be deleted`);
}

/** The Namespace in phase Terminating. */
export function terminating(object: KubeObject, deletionTimestamp: string): KubeObject {
    const { metadata, ...rest } = object;
    if (metadata?.deletionTimestamp !== undefined) return object;
    return { ...rest, metadata: { ...metadata, deletionTimestamp }, status: { phase: "Terminating" } } as KubeObject;
}

/** Throws Refusal if no objects can be created in it. */
export function checkOpen(name: string, found: KubeObject | undefined, plural: string): void {
    if (found === undefined) throw new Refusal(404, `namespaces "${name}" not found`);
    if ((found as Rest).status?.phase !== "Terminating") return;
    throw new Refusal(
        403,
        `${plural} is forbidden: unable to create new content in namespace ${name} because it is being terminated`,
    );
}

/** Restricts an update: through the subresource `finalize` to the finalizers, otherwise to everything else. */
export function prepared(before: KubeObject, given: KubeObject, after: KubeObject, subresource: string): KubeObject {
    const { spec } = before as Rest;
    if (subresource !== "finalize") return { ...after, ...(spec && { spec }) } as KubeObject;
    return { ...before, spec: { finalizers: (given as Rest).spec?.finalizers ?? [] } } as KubeObject;
}

/** Whether it is being deleted and has no finalizers. */
export function isOver(object: KubeObject): boolean {
    const { deletionTimestamp, finalizers = [] } = object.metadata ?? {};
    const left = [...finalizers, ...((object as Rest).spec?.finalizers ?? [])];
    return deletionTimestamp !== undefined && left.length === 0;
}
