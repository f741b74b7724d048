import { templateAnnotations, type WorkloadShape } from "@antrea/ipam";
import { type CronJob, type DaemonSet, type Deployment, type StatefulSet } from "@antrea/kube";
import { ipamAnnotations } from "./pod.ts";

/** What commands need of an object with a template of Pods. */
export interface TemplateInfo {
    readonly kind: "Deployment" | "StatefulSet" | "DaemonSet" | "CronJob";
    readonly namespace: string;
    readonly name: string;
    /** The annotations of IPAM on its template; none where its Pods are in the network of their Node. */
    readonly annotations: Readonly<Record<string, string>>;
}

/** What commands need of a StatefulSet. */
export interface WorkloadInfo extends TemplateInfo {
    readonly replicas: number;
    /** The lowest ordinal of a StatefulSet. */
    readonly start: number;
}

export function readDeployment(object: Deployment): TemplateInfo {
    return read("Deployment", object);
}

export function readDaemonSet(object: DaemonSet): TemplateInfo {
    return read("DaemonSet", object);
}

export function readCronJob(object: CronJob): TemplateInfo {
    return read("CronJob", object);
}

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
