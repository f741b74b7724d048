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
    networkAttachmentDefinitions,
    nodes,
    pods,
    serviceCidrs,
    statefulSets,
    type KubeObject,
    type Resource,
} from "@antrea/kube";

/** Properties of a kind besides its path. */
export interface Kind {
    readonly resource: Resource<KubeObject>;
    readonly apiVersion: string;
    /** A custom resource, which must be replaced with its current resourceVersion. */
    readonly custom: boolean;
    /** Its status is written only through the subresource. */
    readonly hasStatus: boolean;
    /** Increments metadata.generation with changes of its spec. */
    readonly hasGeneration: boolean;
    /** Its selectable fields, besides name and Namespace. */
    readonly fields: readonly string[];
}

function kind(resource: Resource<KubeObject>, parts: Partial<Kind> = {}): Kind {
    const basic = { custom: false, hasStatus: false, hasGeneration: false, fields: [] };
    return { ...basic, resource, apiVersion: apiVersionOf(resource), ...parts };
}

/** The selectable fields in the CustomResourceDefinition. */
function selectable({ plural, group }: Resource<KubeObject>): readonly string[] {
    const definition = customResourceDefinitions().find(({ metadata }) => metadata.name === `${plural}.${group}`);
    const fields = definition?.spec.versions.flatMap(({ selectableFields = [] }) => selectableFields) ?? [];
    return fields.map(({ jsonPath }) => jsonPath.replace(/^\./, ""));
}

const built = { hasStatus: true, hasGeneration: true };

/** All kinds that the API server serves. */
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
    kind(networkAttachmentDefinitions, { custom: true, hasGeneration: true }),
    kind(ipPools, { custom: true, ...built }),
    kind(ipAllocations, {
        custom: true,
        hasGeneration: true,
        fields: selectable(ipAllocations),
    }),
];
