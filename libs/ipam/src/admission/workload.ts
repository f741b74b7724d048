import { podIpsAnnotation, poolsAnnotation } from "@antrea/crd";
import { formatIp, quote, type IpAddress } from "@antrea/ip";
import { poolsOf, readPodIps, type Annotations, type NamedPools } from "../annotations.ts";
import { type Exclusions } from "../exclusions.ts";
import { type Pool } from "../pool.ts";
import { refusalText, type Refusal } from "../refusal.ts";
import { annotationWarnings, ourAnnotations, resembling } from "./misspelt.ts";
import { allowed, refused, someOf, together, type Verdict } from "./verdict.ts";

/** What the rules ask of the cluster. */
export interface WorkloadContext {
    /** The IPPool of this name, if there is one. */
    pool(name: string): Pool | undefined;
    /** The names of all IPPools, for who named one that does not exist; default none. */
    poolNames?(): Iterable<string>;
    readonly exclusions: Pick<Exclusions, "reason">;
}

/** The part of a Pod, or of the template of Pods, that the rules read. */
export interface PodShape {
    readonly metadata?: { readonly annotations?: Annotations };
    readonly spec?: { readonly hostNetwork?: boolean };
}

/** A request to create (`old` is undefined) or change an object. */
export interface WorkloadRequest<T> {
    readonly old: T | undefined;
    readonly object: T;
    /** Annotations of the Namespace that the object lies in. */
    readonly namespace: Annotations;
}

/** Judges a Pod. Of a change only the two annotations matter, so a Pod that is there already may be as bad as it is. */
export function checkPod({ old, object, namespace }: WorkloadRequest<PodShape>, context: WorkloadContext): Verdict {
    const path = "metadata.annotations";
    if (old !== undefined) return refused(...changedAnnotations(old, object, path));
    const warnings = annotationWarnings(object.metadata?.annotations, undefined, { path, effective: ourAnnotations });
    return together(checkAnnotations(object, namespace, context, { path, unknownPool: "refuse" }), {
        errors: [],
        warnings,
    });
}

/** Where a Pod or a template of Pods has its annotations. */
export interface Place {
    readonly path: string;
    /** What to do about a pool of the object's own list that does not exist. */
    readonly unknownPool: "refuse" | "warn";
}

/** Judges the annotations of a Pod, or of a template of Pods, that is created. */
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

/** Of pools that are being deleted. They are not refused: the ordinal of a Pod may have an address of one. */
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

/** What is refused of a change: each annotation of ours that differs. */
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

/** That there is no IPPool of this name, and what to do; `yet` stands behind the first. */
export function unknownPoolRule(name: string, { poolNames }: Pick<WorkloadContext, "poolNames">, yet = ""): string {
    const rule = `there is no IPPool of this name${yet}`;
    // No pool can have such a name.
    if (/[^a-zA-Z0-9.-]/.test(name)) return `${rule}; names are separated by commas`;
    const choices = resembling(name, poolNames?.() ?? []).map((choice) => quote(choice));
    return choices.length === 0
        ? `${rule}; create it first`
        : `${rule}; create it first, or choose one of ${someOf(choices)}`;
}
