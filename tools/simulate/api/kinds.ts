import { ipAllocations, ipPools } from "@antrea/crd";
import { customResourceDefinitions } from "@antrea/crd/schema";
import {
    apiVersionOf,
    configMaps,
    cronJobs,
    daemonSets,
    deployments,
    events,
    leases,
    namespaces,
    nodes,
    pods,
    serviceCidrs,
    statefulSets,
    type KubeObject,
    type Resource,
} from "@antrea/kube";

/** What the API server knows of a kind beside where it is served. */
export interface Kind {
    readonly resource: Resource<KubeObject>;
    readonly apiVersion: string;
    /** Of a custom resource; these must be replaced with the version that they were read in. */
    readonly custom: boolean;
    /** Its status is written by the subresource only. */
    readonly hasStatus: boolean;
    /** Counts the changes of its spec. */
    readonly hasGeneration: boolean;
    /** What it can be selected by, beside name and Namespace. */
    readonly fields: readonly string[];
}

function kind(resource: Resource<KubeObject>, parts: Partial<Kind> = {}): Kind {
    const basic = { custom: false, hasStatus: false, hasGeneration: false, fields: [] };
    return { ...basic, resource, apiVersion: apiVersionOf(resource), ...parts };
}

/** The fields that the definition of a custom resource names. */
function selectable({ plural, group }: Resource<KubeObject>): readonly string[] {
    const definition = customResourceDefinitions().find(({ metadata }) => metadata.name === `${plural}.${group}`);
    const fields = definition?.spec.versions.flatMap(({ selectableFields = [] }) => selectableFields) ?? [];
    return fields.map(({ jsonPath }) => jsonPath.replace(/^\./, ""));
}

const built = { hasStatus: true, hasGeneration: true };

export const kinds: readonly Kind[] = [
    kind(nodes, { hasStatus: true }),
    kind(namespaces, { hasStatus: true }),
    kind(pods, { hasStatus: true, hasGeneration: true, fields: ["spec.nodeName", "status.phase"] }),
    kind(statefulSets, built),
    kind(deployments, built),
    kind(daemonSets, built),
    kind(cronJobs, built),
    kind(leases),
    kind(configMaps),
    kind(events),
    kind(serviceCidrs),
    kind(ipPools, { custom: true, ...built }),
    kind(ipAllocations, {
        custom: true,
        hasGeneration: true,
        fields: selectable(ipAllocations),
    }),
];
