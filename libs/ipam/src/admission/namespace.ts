import { poolsAnnotation } from "@antrea/crd";
import { quote, type Family } from "@antrea/ip";
import { readPoolNames, type Annotations } from "../annotations.ts";
import { type Pool } from "../pool.ts";
import { refusalText, type Refusal } from "../refusal.ts";
import { annotationWarnings, type AnnotationPlace } from "./misspelt.ts";
import { allowed, someOf, together, type Verdict } from "./verdict.ts";
import { type WorkloadContext } from "./workload-context.ts";
import { deletingWarnings, unknownPoolRule, type PodShape } from "./workload.ts";

const path = `metadata.annotations[${poolsAnnotation}]`;
const annotationPlace: AnnotationPlace = {
    path: "metadata.annotations",
    effective: [poolsAnnotation],
    instead: "set it on the Pod, or in the template of Pods",
};

/**
 * Validates the IPAM annotation of a Namespace that is created (`old` is undefined) or changed. Errors: a malformed
 * list, two pools of one IP family, and a change that `users` forbids. Pools that do not exist or are being deleted are
 * warnings. An unchanged value is not validated again.
 *
 * @param users those that have addresses of the old pools by inheritance, as texts for the message: while there are
 * any, every change that `changesNamespacePools` reports is rejected; needed only for these
 */
export function checkNamespace(
    { old, annotations }: { readonly old: Annotations; readonly annotations: Annotations },
    context: Pick<WorkloadContext, "pool" | "poolNames">,
    users: readonly string[],
): Verdict {
    const value = annotations?.[poolsAnnotation];
    const misspelt: Verdict = { errors: [], warnings: annotationWarnings(annotations, old, annotationPlace) };
    if (value === old?.[poolsAnnotation]) return misspelt;
    const change: Verdict = { errors: changeRefusals(old, annotations, users), warnings: [] };
    return together(change, value === undefined ? allowed : checkValue(value, context), misspelt);
}

/**
 * True if the annotation named pools and its list is now absent or has other names or another order. False if it named
 * none, or if only its notation (spaces, empty items, repeated names) differs.
 */
export function changesNamespacePools(old: Annotations, annotations: Annotations): boolean {
    const before = readPoolNames(old?.[poolsAnnotation] ?? "").names;
    const after = readPoolNames(annotations?.[poolsAnnotation] ?? "").names;
    return before.length > 0 && (before.length !== after.length || before.some((name, at) => name !== after[at]));
}

/**
 * True if the Pod takes its addresses from the pools of its Namespace: it has no list of its own, has not ended and
 * does not use the host network.
 */
export function usesNamespacePools(pod: PodShape & { readonly status?: { readonly phase?: string } }): boolean {
    return (
        pod.metadata?.annotations?.[poolsAnnotation] === undefined && pod.spec?.hostNetwork !== true && !isEnded(pod)
    );
}

/** True if the Pod has ended (phase Succeeded or Failed): its containers do not run again. */
export function isEnded(pod: { readonly status?: { readonly phase?: string } }): boolean {
    return pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
}

function changeRefusals(old: Annotations, annotations: Annotations, users: readonly string[]): readonly Refusal[] {
    if (users.length === 0 || !changesNamespacePools(old, annotations)) return [];
    const value = annotations?.[poolsAnnotation];
    const before = quote(old?.[poolsAnnotation]);
    const what = value === undefined ? "removed" : "changed";
    const rule = `cannot be ${what} (it was ${before}) while addresses of it are used here: ${someOf(users)}; delete these first`;
    return [{ path, value: value ?? "", rule }];
}

function checkValue(value: string, context: Pick<WorkloadContext, "pool" | "poolNames">): Verdict {
    const pool = (name: string): Pool | undefined => context.pool(name);
    const { names, problems } = readPoolNames(value);
    const errors = problems.map((rule) => ({ path, value, rule }));
    // Not checked further: the number of names may be the problem, and each would add a sentence.
    if (problems.length > 0) return { errors, warnings: [] };
    const ofFamily = new Map<Family, string>();
    for (const name of names) {
        const family = pool(name)?.family;
        if (family === undefined) continue;
        const other = ofFamily.get(family);
        if (other === undefined) {
            ofFamily.set(family, name);
        } else {
            const rule = `a Namespace takes at most one IPPool of a family: ${quote(other)} and ${quote(name)} are of IPv${family}`;
            errors.push({ path, value, rule });
        }
    }
    const unknown = names.filter((name) => pool(name) === undefined);
    const unknownPool = (name: string): string =>
        refusalText({ path, value: name, rule: unknownPoolRule(name, context, " yet") });
    return { errors, warnings: [...unknown.map(unknownPool), ...deletingWarnings(names, path, { pool })] };
}
