import { podIpsAnnotation, poolsAnnotation } from "@antrea/crd";
import { quote } from "@antrea/ip";
import { type Annotations } from "../annotations.ts";

/** The IPAM annotations of Pods: `ipam.antrea.io/ippools` and `ipam.antrea.io/pod-ips`. */
export const ourAnnotations = [poolsAnnotation, podIpsAnnotation] as const;

const [ourDomain = ""] = poolsAnnotation.split("/");
const longest = 63;
const shownWarnings = 5;

/** Location of annotations, and which IPAM annotations have an effect there. */
export interface AnnotationPlace {
    /** Path for messages: `metadata.annotations` */
    readonly path: string;
    /** IPAM annotations that have an effect there. */
    readonly effective: readonly string[];
    /** Advice for an IPAM annotation without effect there: `set it in the template of Pods`. */
    readonly instead?: string;
}

/**
 * Returns warnings for annotations that were probably meant for IPAM and have no effect: misspelt ones, and known ones
 * in the wrong place. Unchanged ones (equal in `old`, undefined for a new object) are skipped; at most five warnings.
 */
export function annotationWarnings(
    annotations: Annotations,
    old: Annotations,
    { path, effective, instead }: AnnotationPlace,
): readonly string[] {
    const warnings: string[] = [];
    for (const [key, value] of Object.entries(annotations ?? {})) {
        if (warnings.length === shownWarnings) break;
        if (old?.[key] === value || effective.includes(key)) continue;
        if (ourAnnotations.some((ours) => ours === key)) {
            warnings.push(`${path}[${key}] has no effect here${instead === undefined ? "" : `: ${instead}`}`);
            continue;
        }
        const meant = meantBy(key);
        if (meant === undefined) continue;
        const hint = meant === "" ? `known are ${ourAnnotations.join(" and ")}` : `did you mean ${meant}?`;
        warnings.push(`${path}: unknown annotation ${quote(key)} has no effect; ${hint}`);
    }
    return warnings;
}

/**
 * Returns the IPAM annotation that the key resembles; "" for a key of our domain that resembles none, undefined for
 * other domains.
 */
function meantBy(key: string): string | undefined {
    if (key.length > longest) return undefined;
    const text = key.toLowerCase();
    const slash = text.lastIndexOf("/");
    const [domain, name] = [text.slice(0, Math.max(slash, 0)), text.slice(slash + 1)];
    const nearest = ourAnnotations
        .map((ours) => ({ ours, distance: distance(name, ours.slice(ourDomain.length + 1)) }))
        .sort((a, b) => a.distance - b.distance)[0]!;
    if (domain === ourDomain) return nearest.distance <= 3 ? nearest.ours : "";
    const isOurs = domain === "antrea.io" || domain.endsWith(".antrea.io") || distance(domain, ourDomain) <= 2;
    if (nearest.distance <= 2 && isOurs) return nearest.ours;
    return domain === "" && nearest.distance <= 1 ? nearest.ours : undefined;
}

const mostCompared = 1_000;

/**
 * Returns the names, most similar first by Levenshtein distance of their first 63 characters; only the first 1000 names
 * are compared, the others are left out.
 */
export function resembling(name: string, names: Iterable<string>): readonly string[] {
    const compared: { readonly name: string; readonly distance: number }[] = [];
    for (const candidate of names) {
        if (compared.length === mostCompared) break;
        compared.push({ name: candidate, distance: distance(name.slice(0, longest), candidate.slice(0, longest)) });
    }
    return compared.sort((a, b) => a.distance - b.distance).map((each) => each.name);
}

/** Levenshtein distance: insertions, deletions and replacements of characters. */
function distance(a: string, b: string): number {
    let row = Array.from({ length: b.length + 1 }, (_, at) => at);
    for (let i = 1; i <= a.length; i += 1) {
        const next = [i];
        for (let j = 1; j <= b.length; j += 1) {
            const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
            next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, replaced));
        }
        row = next;
    }
    return row[b.length]!;
}
