import { poolsAnnotation } from "@antrea/crd";
import { IpError, parseIp, quote, type IpAddress } from "@antrea/ip";

/** `metadata.annotations` of an object; undefined if it has none. */
export type Annotations = Readonly<Record<string, string>> | undefined;

/** The pools that an annotation names, in its order, and the rules that it violates. */
export interface PoolNames {
    /** Distinct names, in the order of the annotation. */
    readonly names: readonly string[];
    /** Violated rules, one sentence each. */
    readonly problems: readonly string[];
}

// An agent may have to request an address from each of them.
const maxPoolNames = 16;
// An annotation has room for 100,000 names or addresses, and each problem is a sentence.
const maxProblems = 10;

/**
 * Parses `ipam.antrea.io/ippools`: names separated by commas, trimmed, empty items skipped. Never throws: that there
 * are none, more than 16 or repeated ones is in `problems`, and `names` has all of them even so.
 */
export function readPoolNames(text: string): PoolNames {
    const names = new Set<string>();
    const repeated = new Set<string>();
    // Linear time: an annotation has room for 100,000 names.
    for (const name of items(text)) (names.has(name) ? repeated : names).add(name);
    const problems = [...repeated].slice(0, maxProblems).map((name) => `IPPool ${quote(name)} is named more than once`);
    if (repeated.size > maxProblems) problems.push(`${repeated.size - maxProblems} more are named more than once`);
    if (names.size > maxPoolNames) {
        problems.push(`it names ${names.size} IPPools; at most ${maxPoolNames} are allowed`);
    }
    if (names.size === 0) problems.push("it must name at least one IPPool");
    return { names: [...names], problems };
}

/** The addresses that an annotation requests, at most one per IP family, and the rules that it violates. */
export interface PodIps {
    readonly ips: readonly IpAddress[];
    /** Violated rules, one sentence each. */
    readonly problems: readonly string[];
}

/**
 * Parses `ipam.antrea.io/pod-ips`: addresses separated by commas, trimmed, empty items skipped; a blank value requests
 * none. Never throws: invalid addresses and a second one of a family are in `problems`, and reading ends after ten
 * problems.
 */
export function readPodIps(text: string): PodIps {
    const ips: IpAddress[] = [];
    const problems: string[] = [];
    for (const item of items(text)) {
        if (problems.length === maxProblems) {
            problems.push("what follows was not checked");
            break;
        }
        try {
            const ip = parseIp(item);
            if (ips.some((other) => other.family === ip.family)) {
                problems.push(`it must have at most one IPv${ip.family} address: ${quote(item)} is a further one`);
            } else {
                ips.push(ip);
            }
        } catch (error) {
            if (!(error instanceof IpError)) throw error;
            problems.push(error.message);
        }
    }
    return { ips, problems };
}

/** The pools from which a Pod takes its addresses, and the object whose annotation names them. */
export interface NamedPools extends PoolNames {
    /** The object whose annotation names the pools. */
    readonly from: "Pod" | "Namespace";
}

/**
 * Returns the pools of a Pod: those of its own annotation, else of its Namespace's. The pools need not exist. An empty
 * annotation of the Pod is a problem and does not fall back to the Namespace. Undefined if neither is set: the Pod
 * takes its addresses from the Node's podCIDRs.
 */
export function poolsOf(pod: Annotations, namespace: Annotations): NamedPools | undefined {
    const own = pod?.[poolsAnnotation];
    if (own !== undefined) return { ...readPoolNames(own), from: "Pod" };
    const inherited = namespace?.[poolsAnnotation];
    return inherited === undefined ? undefined : { ...readPoolNames(inherited), from: "Namespace" };
}

interface OwnerReference {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly uid: string;
    readonly controller?: boolean;
}

/** The StatefulSet of a Pod and the Pod's ordinal in it. */
export interface StatefulSetPlace {
    readonly name: string;
    readonly uid: string;
    /** Number of the Pod in the StatefulSet. */
    readonly ordinal: number;
}

const ordinalText = /^(?:0|[1-9]\d{0,9})$/;
const highestOrdinal = 2 ** 31 - 1;

/**
 * Returns the StatefulSet (group apps) that controls the Pod, with the ordinal from the Pod's name; undefined if none
 * controls it or the Pod's name is not `NAME-ORDINAL`.
 */
export function statefulSetOf(pod: {
    readonly name: string;
    readonly ownerReferences?: readonly OwnerReference[];
}): StatefulSetPlace | undefined {
    const owner = pod.ownerReferences?.find((reference) => reference.controller === true);
    if (owner?.kind !== "StatefulSet" || !owner.apiVersion.startsWith("apps/")) return undefined;
    if (!pod.name.startsWith(`${owner.name}-`)) return undefined;
    const ordinal = pod.name.slice(owner.name.length + 1);
    if (!ordinalText.test(ordinal) || Number(ordinal) > highestOrdinal) return undefined;
    return { name: owner.name, uid: owner.uid, ordinal: Number(ordinal) };
}

function items(text: string): readonly string[] {
    return text
        .split(",")
        .map((item) => item.trim())
        .filter((item) => item !== "");
}
