import { templateAnnotations, type WorkloadShape } from "@antrea/ipam";
import { type CronJob, type DaemonSet, type Deployment, type StatefulSet } from "@antrea/kube";
import { ipamAnnotations } from "./pod.ts";

/** The fields that commands need of an object with a Pod template. */
export interface TemplateInfo {
    readonly kind: "Deployment" | "StatefulSet" | "DaemonSet" | "CronJob";
    readonly namespace: string;
    readonly name: string;
    /** The IPAM annotations of its template; none for Pods on the host network. */
    readonly annotations: Readonly<Record<string, string>>;
}

/** The fields of a StatefulSet that commands need: those of its template, and which ordinals it has. */
export interface WorkloadInfo extends TemplateInfo {
    /** `spec.replicas`; 1 if absent. */
    readonly replicas: number;
    /** The lowest ordinal (`spec.ordinals.start`); 0 if absent. */
    readonly start: number;
}

/** Reads name, Namespace and the IPAM annotations of the Pod template of a Deployment; a missing name is "". */
export function readDeployment(object: Deployment): TemplateInfo {
    return read("Deployment", object);
}

/** Reads name, Namespace and the IPAM annotations of the Pod template of a DaemonSet; a missing name is "". */
export function readDaemonSet(object: DaemonSet): TemplateInfo {
    return read("DaemonSet", object);
}

/** Reads name, Namespace and the IPAM annotations of the Pod template of a CronJob's Jobs; a missing name is "". */
export function readCronJob(object: CronJob): TemplateInfo {
    return read("CronJob", object);
}

/** Reads a StatefulSet; replicas default to 1 and the first ordinal to 0, as in the API. */
export function readStatefulSet(object: StatefulSet): WorkloadInfo {
    const { replicas = 1, ordinals } = object.spec ?? {};
    return { ...read("StatefulSet", object), replicas, start: ordinals?.start ?? 0 };
}

function read(
    kind: TemplateInfo["kind"],
    object: WorkloadShape & { readonly metadata?: { readonly namespace?: string; readonly name?: string } },
): TemplateInfo {
    const { namespace = "", name = "" } = object.metadata ?? {};
    const template = (object.spec?.jobTemplate?.spec ?? object.spec)?.template;
    const annotations = template?.spec?.hostNetwork === true ? {} : ipamAnnotations(templateAnnotations(object));
    return { kind, namespace, name, annotations };
}
