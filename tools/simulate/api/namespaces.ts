import { type KubeObject } from "@antrea/kube";
import { Refusal } from "./answer.ts";
import { type Kind } from "./kinds.ts";

/** What of a Namespace is beside its metadata. */
interface Rest {
    readonly spec?: { readonly finalizers?: readonly string[] };
    readonly status?: { readonly phase?: string };
}

/** Those without which no cluster is. */
const immortal = new Set(["default", "kube-system", "kube-public"]);

export function isNamespace({ resource }: Kind): boolean {
    return resource.plural === "namespaces";
}

/** The object of a Namespace as it is made: somebody has to empty it before it goes. */
export function newNamespace(object: KubeObject): KubeObject {
    return { ...object, spec: { finalizers: ["kubernetes"] }, status: { phase: "Active" } } as KubeObject;
}

export function checkDeletable(name: string): void {
    if (immortal.has(name))
        throw new Refusal(403, `namespaces "${name}" is forbidden: this namespace may not be deleted`);
}

/** The same Namespace on its way out. */
export function terminating(object: KubeObject, deletionTimestamp: string): KubeObject {
    const { metadata, ...rest } = object;
    if (metadata?.deletionTimestamp !== undefined) return object;
    return { ...rest, metadata: { ...metadata, deletionTimestamp }, status: { phase: "Terminating" } } as KubeObject;
}

/** Throws Refusal where nothing can be made in it. */
export function checkOpen(name: string, found: KubeObject | undefined, plural: string): void {
    if (found === undefined) throw new Refusal(404, `namespaces "${name}" not found`);
    if ((found as Rest).status?.phase !== "Terminating") return;
    throw new Refusal(
        403,
        `${plural} is forbidden: unable to create new content in namespace ${name} because it is being terminated`,
    );
}

/** What a write may change: by the subresource `finalize` its finalizers and nothing else, else all but these. */
export function prepared(before: KubeObject, given: KubeObject, after: KubeObject, subresource: string): KubeObject {
    const { spec } = before as Rest;
    if (subresource !== "finalize") return { ...after, ...(spec && { spec }) } as KubeObject;
    return { ...before, spec: { finalizers: (given as Rest).spec?.finalizers ?? [] } } as KubeObject;
}

/** Its deletion was asked for, and it is empty. */
export function isOver(object: KubeObject): boolean {
    const { deletionTimestamp, finalizers = [] } = object.metadata ?? {};
    const left = [...finalizers, ...((object as Rest).spec?.finalizers ?? [])];
    return deletionTimestamp !== undefined && left.length === 0;
}
