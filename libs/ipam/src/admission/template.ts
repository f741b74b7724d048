import { podIpsAnnotation } from "@antrea/crd";
import { readPodIps, type Annotations } from "../annotations.ts";
import { annotationWarnings, ourAnnotations } from "./misspelt.ts";
import { allowed, refused, together, type Verdict } from "./verdict.ts";
import { type WorkloadContext } from "./workload-context.ts";
import { changedAnnotations, checkAnnotations, type PodShape, type WorkloadRequest } from "./workload.ts";

/** Kinds of workload objects with a Pod template, whose IPAM annotations are validated. */
export type TemplateKind = "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "Job" | "CronJob";

interface TemplateSpec {
    /** Set for a Deployment, StatefulSet or ReplicaSet. */
    readonly replicas?: number;
    /** Set for a Job. */
    readonly parallelism?: number;
    readonly completions?: number;
    readonly template?: PodShape;
    readonly strategy?: { readonly type?: string };
}

/** The part of a workload object (such as a Deployment or CronJob) that the rules read. */
export interface WorkloadShape {
    readonly metadata?: { readonly annotations?: Annotations };
    readonly spec?: TemplateSpec & {
        /** Set for a CronJob. */
        readonly jobTemplate?: { readonly spec?: TemplateSpec };
    };
}

/**
 * Validates the IPAM annotations of a Pod template and the number of its Pods: static addresses are for one Pod, so
 * more replicas or parallel Pods are an error, a DaemonSet or a rolling update only a warning. The annotations of a
 * template must not change, except of a CronJob or Job, whose annotations affect later Pods only; these are validated
 * again.
 */
export function checkPodTemplate(
    kind: TemplateKind,
    { old, object, namespace }: WorkloadRequest<WorkloadShape>,
    context: WorkloadContext,
): Verdict {
    const { path, spec } = templateSpec(kind, object);
    const before = old && templateSpec(kind, old).spec;
    const annotationsPath = `${path}.template.metadata.annotations`;
    const template = spec.template ?? {};
    const misspelt = misspeltIn(annotationsPath, template, before?.template, object, old);
    const rest = together(checkCount(kind, path, before, spec), checkRolling(kind, before, spec), misspelt);
    const changes = before === undefined ? [] : changedAnnotations(before.template ?? {}, template, annotationsPath);
    const isFixed = kind !== "Job" && kind !== "CronJob";
    if (before !== undefined && (isFixed || changes.length === 0)) return together(refused(...changes), rest);
    const place = { path: annotationsPath, unknownPool: "warn" } as const;
    return together(checkAnnotations(template, namespace, context, place), rest);
}

/**
 * Validates a request to the scale subresource. `object` is the stored one; `replicas` is the requested number. An
 * error only if it grows above 1 while the template requests static addresses.
 */
export function checkScale(object: WorkloadShape, replicas: number): Verdict {
    const spec = object.spec ?? {};
    return checkReplicas("spec.replicas", spec.template, spec.replicas ?? 1, replicas);
}

/**
 * Returns the annotations of the Pod template of an object (of a CronJob its `jobTemplate`'s); undefined if it has
 * none.
 */
export function templateAnnotations(object: WorkloadShape): Annotations {
    return (object.spec?.jobTemplate?.spec ?? object.spec)?.template?.metadata?.annotations;
}

function templateSpec(
    kind: TemplateKind,
    { spec }: WorkloadShape,
): { readonly path: string; readonly spec: TemplateSpec } {
    if (kind === "CronJob") return { path: "spec.jobTemplate.spec", spec: spec?.jobTemplate?.spec ?? {} };
    return { path: "spec", spec: spec ?? {} };
}

function misspeltIn(
    path: string,
    template: PodShape,
    before: PodShape | undefined,
    object: WorkloadShape,
    old: WorkloadShape | undefined,
): Verdict {
    const annotations = template.metadata?.annotations;
    const own = { path: "metadata.annotations", effective: [], instead: `set it in ${path}` };
    // An annotation that the template has too is in effect there.
    const present = { ...annotations, ...old?.metadata?.annotations };
    return {
        errors: [],
        warnings: [
            ...annotationWarnings(annotations, before?.metadata?.annotations, { path, effective: ourAnnotations }),
            ...annotationWarnings(object.metadata?.annotations, present, own),
        ],
    };
}

function checkCount(kind: TemplateKind, path: string, old: TemplateSpec | undefined, spec: TemplateSpec): Verdict {
    const { template } = spec;
    switch (kind) {
        case "Deployment":
        case "StatefulSet":
        case "ReplicaSet": {
            const before = old === undefined ? 0 : (old.replicas ?? 1);
            return checkReplicas(`${path}.replicas`, template, before, spec.replicas ?? 1);
        }
        case "Job":
        case "CronJob":
            return checkReplicas(`${path}.parallelism`, template, atOnce(old), atOnce(spec));
        case "DaemonSet":
            return old === undefined && asksForIps(template) ? oneForAllNodes(path) : allowed;
    }
}

/** Returns how many Pods of a Job run at the same time. */
function atOnce(spec: TemplateSpec | undefined): number {
    if (spec === undefined) return 0;
    return Math.min(spec.parallelism ?? 1, spec.completions ?? Number.MAX_SAFE_INTEGER);
}

function checkReplicas(path: string, template: PodShape | undefined, before: number, after: number): Verdict {
    if (!asksForIps(template) || after <= 1 || after <= before) return allowed;
    const rule = `must not be above 1: annotation ${podIpsAnnotation} of the template names one Pod's addresses`;
    return refused({ path, value: String(after), rule });
}

function oneForAllNodes(path: string): Verdict {
    const warning =
        `${path}.template.metadata.annotations[${podIpsAnnotation}] names one Pod's addresses: of a DaemonSet that runs on ` +
        "several Nodes all Pods but one wait for them";
    return { errors: [], warnings: [warning] };
}

// A rolling update starts the new Pod before the old one has ended, which holds the address.
function checkRolling(kind: TemplateKind, old: TemplateSpec | undefined, spec: TemplateSpec): Verdict {
    const rolls = ({ strategy }: TemplateSpec): boolean => (strategy?.type ?? "RollingUpdate") !== "Recreate";
    if (kind !== "Deployment" || !asksForIps(spec.template) || !rolls(spec)) return allowed;
    if (old !== undefined && rolls(old)) return allowed;
    const warning =
        `spec.strategy.type "RollingUpdate": the next Pod waits for the address that annotation ${podIpsAnnotation} ` +
        `names as long as the Pod before it is there: use "Recreate"`;
    return { errors: [], warnings: [warning] };
}

function asksForIps({ metadata, spec }: PodShape = {}): boolean {
    const { ips, problems } = readPodIps(metadata?.annotations?.[podIpsAnnotation] ?? "");
    return spec?.hostNetwork !== true && (ips.length > 0 || problems.length > 0);
}
