import { podIpsAnnotation, poolsAnnotation } from "@antrea/crd";
import { formatIp, quote, type IpAddress } from "@antrea/ip";
import { poolsOf, readPodIps, type Annotations, type NamedPools } from "../annotations.ts";
import { type Exclusions } from "../exclusions.ts";
import { type Pool } from "../pool.ts";
import { refusalText, type Refusal } from "../refusal.ts";
import { annotationWarnings, ourAnnotations, resembling } from "./misspelt.ts";
import { allowed, refused, someOf, together, type Verdict } from "./verdict.ts";

/** Cluster state that the rules for Pods and templates need. */
export interface WorkloadContext {
    /** Returns the IPPool of this name, if it exists. */
    pool(name: string): Pool | undefined;
    /** Returns the names of all IPPools, to suggest one for an unknown name. Default: none. */
    poolNames?(): Iterable<string>;
    /** Addresses that the cluster excludes from pools. */
    readonly exclusions: Pick<Exclusions, "reason">;
}

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

/** Location of annotations for messages, and the treatment of unknown pools there. */
export interface Place {
    /** Path for messages, such as `metadata.annotations`. */
    readonly path: string;
    /** Whether an unknown pool in the object's own list is rejected. */
    readonly unknownPool: "refuse" | "warn";
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

function checkPodIps(
    annotations: Annotations,
    pools: NamedPools | undefined,
    context: WorkloadContext,
    { path: annotationsPath }: Place,
): Verdict {
    const text = annotations?.[podIpsAnnotation] ?? "";
    const path = `${annotationsPath}[${podIpsAnnotation}]`;
    const { ips, problems } = readPodIps(text);
    const malformed = problems.map((rule) => ({ path, value: text, rule }));
    if (ips.length === 0) return refused(...malformed);
    if (pools === undefined) {
        const rule = `needs an IPPool: name it in annotation ${poolsAnnotation} here or on the Namespace`;
        return refused(...malformed, { path, value: text, rule });
    }
    return together(refused(...malformed), ...ips.map((ip) => checkPodIp(ip, pools, context, path)));
}

function checkPodIp(
    ip: IpAddress,
    { names }: NamedPools,
    { pool, exclusions }: WorkloadContext,
    path: string,
): Verdict {
    const value = formatIp(ip);
    const known = names.map((name) => pool(name)).filter((found) => found !== undefined);
    const [candidate, ...others] = known.filter(({ family }) => family === ip.family);
    if (candidate === undefined) {
        const unknown = names.filter((name) => pool(name) === undefined).map((name) => quote(name));
        if (unknown.length === 0) {
            return refused({ path, value, rule: `no IPPool of ${names.join(", ")} is of IPv${ip.family}` });
        }
        const warning = `${path}: ${value} cannot be checked, IPPool ${someOf(unknown)} does not exist yet`;
        return { errors: [], warnings: [warning] };
    }
    if (others.length > 0) {
        const listed = [candidate, ...others].map(({ name }) => quote(name)).join(" and ");
        const rule = `needs exactly one IPPool of its family, and ${listed} are of IPv${ip.family}: name one`;
        return refused({ path, value, rule });
    }
    const reason = exclusions.reason(candidate, ip);
    if (reason === undefined) return allowed;
    return refused({ path, value, rule: `IPPool ${quote(candidate.name)} does not hand it out: it ${reason}` });
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
