import { poolsAnnotation } from "@antrea/crd";
import { quote } from "@antrea/ip";
import { poolsOf, type Annotations, type NamedPools } from "../annotations.ts";
import { refusalText, type Refusal } from "../refusal.ts";
import { annotationWarnings, ourAnnotations, resembling } from "./misspelt.ts";
import { checkPodIps } from "./pod-ips.ts";
import { allowed, refused, someOf, together, type Verdict } from "./verdict.ts";
import { type Place, type WorkloadContext } from "./workload-context.ts";

/** The part of a Pod or Pod template that the rules read: annotations and `hostNetwork`. */
export interface PodShape {
    readonly metadata?: { readonly annotations?: Annotations };
    readonly spec?: { readonly hostNetwork?: boolean };
}

/** A request to create (`old` is undefined) or update an object. */
export interface WorkloadRequest<T> {
    readonly old: T | undefined;
    readonly object: T;
    /** Annotations of the object's Namespace. */
    readonly namespace: Annotations;
}

/**
 * Validates the IPAM annotations of a Pod: of a new one as `checkAnnotations` does, with unknown pools as errors. Of an
 * update, only a change of these annotations is rejected, so that existing Pods with invalid ones can be updated.
 */
export function checkPod({ old, object, namespace }: WorkloadRequest<PodShape>, context: WorkloadContext): Verdict {
    const path = "metadata.annotations";
    if (old !== undefined) return refused(...changedAnnotations(old, object, path));
    const warnings = annotationWarnings(object.metadata?.annotations, undefined, { path, effective: ourAnnotations });
    return together(checkAnnotations(object, namespace, context, { path, unknownPool: "refuse" }), {
        errors: [],
        warnings,
    });
}

/**
 * Validates the IPAM annotations of a Pod or Pod template that is created: the form of both lists, whether the pools
 * exist, and whether a pool of the list hands out each address; not whether it is free. On the host network they have
 * no effect, which is a warning.
 */
export function checkAnnotations(
    pod: PodShape,
    namespace: Annotations,
    context: WorkloadContext,
    place: Place,
): Verdict {
    const annotations = pod.metadata?.annotations;
    if (pod.spec?.hostNetwork === true) return hostNetworkVerdict(annotations, place);
    const pools = poolsOf(annotations, namespace);
    return together(checkPools(pools, context, place), checkPodIps(annotations, pools, context, place));
}

function hostNetworkVerdict(annotations: Annotations, { path }: Place): Verdict {
    const set = ourAnnotations.filter((name) => annotations?.[name] !== undefined);
    return {
        errors: [],
        warnings: set.map((name) => `${path}[${name}] has no effect: the Pod uses the network of its Node`),
    };
}

function checkPools(pools: NamedPools | undefined, context: WorkloadContext, place: Place): Verdict {
    if (pools === undefined) return allowed;
    const path = poolsPath(pools, place);
    const value = pools.names.join(",");
    const problems = pools.problems.map((rule) => ({ path, value, rule }));
    const unknown = pools.names.filter((name) => context.pool(name) === undefined);
    const leaving = deletingWarnings(pools.names, path, context);
    if (pools.from === "Pod" && place.unknownPool === "refuse") {
        const refusals = unknown.map((value) => ({ path, value, rule: unknownPoolRule(value, context) }));
        return { errors: [...problems, ...refusals], warnings: leaving };
    }
    const warnings = unknown.map((name) =>
        refusalText({ path, value: name, rule: unknownPoolRule(name, context, " yet") }),
    );
    return { errors: problems, warnings: [...warnings, ...leaving] };
}

/**
 * Returns a warning for each of these pools that is being deleted. They are not rejected, as the ordinal of a Pod may
 * have an address of one. Unknown names are skipped.
 */
export function deletingWarnings(
    names: readonly string[],
    path: string,
    { pool }: Pick<WorkloadContext, "pool">,
): readonly string[] {
    const rule = "is being deleted and hands out no new address; name another IPPool";
    return names.filter((name) => pool(name)?.isDeleting === true).map((value) => refusalText({ path, value, rule }));
}

/** Returns a refusal for each IPAM annotation that was added, removed or changed. `path` is that of the annotations. */
export function changedAnnotations(old: PodShape, pod: PodShape, path: string): readonly Refusal[] {
    return ourAnnotations.flatMap((name) => {
        const [before, after] = [old.metadata?.annotations?.[name], pod.metadata?.annotations?.[name]];
        if (before === after) return [];
        const was = before === undefined ? "it was not set" : `it was ${quote(before)}`;
        const rule = `cannot be ${after === undefined ? "removed" : "changed"} (${was}): delete and create the object`;
        return [{ path: `${path}[${name}]`, value: after ?? "", rule }];
    });
}

function poolsPath({ from }: NamedPools, { path }: Place): string {
    return from === "Pod" ? `${path}[${poolsAnnotation}]` : `metadata.annotations[${poolsAnnotation}] of the Namespace`;
}

/**
 * Returns the rule for an IPPool that does not exist, with advice: similar names of `poolNames`, if it is set. `yet` ("
 * yet", default "") is appended to the statement.
 */
export function unknownPoolRule(name: string, { poolNames }: Pick<WorkloadContext, "poolNames">, yet = ""): string {
    const rule = `there is no IPPool of this name${yet}`;
    // A pool cannot have such a name.
    if (/[^a-zA-Z0-9.-]/.test(name)) return `${rule}; names are separated by commas`;
    const choices = resembling(name, poolNames?.() ?? []).map((choice) => quote(choice));
    return choices.length === 0
        ? `${rule}; create it first`
        : `${rule}; create it first, or choose one of ${someOf(choices)}`;
}
