import { type Deployment, type StatefulSet } from "@antrea/kube";
import { ipamAnnotations } from "./pod.ts";

/** What commands need of a Deployment or StatefulSet. */
export interface WorkloadInfo {
    readonly kind: "Deployment" | "StatefulSet";
    readonly namespace: string;
    readonly name: string;
    readonly replicas: number;
    /** The lowest ordinal of a StatefulSet. */
    readonly start: number;
    /** The annotations of IPAM on its template. */
    readonly annotations: Readonly<Record<string, string>>;
}

export function readDeployment(object: Deployment): WorkloadInfo {
    return { ...read("Deployment", object), start: 0 };
}

export function readStatefulSet(object: StatefulSet): WorkloadInfo {
    return { ...read("StatefulSet", object), start: object.spec?.ordinals?.start ?? 0 };
}

function read(kind: WorkloadInfo["kind"], { metadata, spec }: Deployment | StatefulSet): Omit<WorkloadInfo, "start"> {
    return {
        kind,
        namespace: metadata?.namespace ?? "",
        name: metadata?.name ?? "",
        replicas: spec?.replicas ?? 1,
        annotations: ipamAnnotations(spec?.template.metadata?.annotations),
    };
}
