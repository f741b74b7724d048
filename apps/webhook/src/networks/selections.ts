import { type Annotations, type PodShape, type TemplateKind, type Verdict, type WorkloadShape } from "@antrea/ipam";
import { NetworkError, networksAnnotation, parseSelections } from "@antrea/networks";

/** A new (`old` is undefined) or changed Pod, or the Pod template of a workload. */
export interface SelectionRequest {
    readonly namespace: string;
    /** Of the Pod's or template's `metadata`, for messages: `metadata`, `spec.template.metadata` */
    readonly path: string;
    readonly old: PodShape | undefined;
    readonly pod: PodShape | undefined;
}

const nothing: Verdict = { errors: [], warnings: [] };

/**
 * Validates the annotation by which a Pod requests networks, by its grammar alone (`parseSelections`): networks may be
 * created later. An unchanged text is not validated again. On the host network it has no effect, which is a warning.
 */
export function checkSelections({ namespace, path, old, pod }: SelectionRequest): Verdict {
    const text = textOf(pod);
    if (text === undefined || (old !== undefined && textOf(old) === text)) return nothing;
    if (pod?.spec?.hostNetwork === true) {
        const warning = `${path}.annotations[${networksAnnotation}] has no effect: the Pod uses the network of its Node`;
        return { errors: [], warnings: [warning] };
    }
    try {
        parseSelections(text, namespace);
        return nothing;
    } catch (error) {
        if (!(error instanceof NetworkError)) throw error;
        // The message has the value that is wrong, which is a part of the text.
        return { errors: [{ path, value: "", rule: error.message }], warnings: [] };
    }
}

/** The Pod template of a workload, of a CronJob that of its Jobs, with the path of its `metadata`. */
export function templateOf(
    kind: TemplateKind,
    { spec }: WorkloadShape,
): { readonly path: string; readonly template: PodShape | undefined } {
    if (kind !== "CronJob") return { path: "spec.template.metadata", template: spec?.template };
    return { path: "spec.jobTemplate.spec.template.metadata", template: spec?.jobTemplate?.spec?.template };
}

function textOf(pod: PodShape | undefined): string | undefined {
    const annotations: Annotations = pod?.metadata?.annotations;
    return annotations?.[networksAnnotation];
}
