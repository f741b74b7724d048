import { z } from "zod";
import { ipAllocations, ipPools } from "../resources.ts";
import { allocationNameRule, ipAllocationSpec } from "./ip-allocation.ts";
import { ipPoolStatus } from "./ip-pool-status.ts";
import { ipPoolSpec } from "./ip-pool.ts";
import { age, column, numberColumn, wide, type PrinterColumn } from "./printer-columns.ts";
import { structuralSchema, type StructuralSchema } from "./structural.ts";

/** A CustomResourceDefinition (apiextensions.k8s.io/v1), reduced to the fields that this project sets. */
export interface CrdManifest {
    readonly apiVersion: "apiextensions.k8s.io/v1";
    readonly kind: "CustomResourceDefinition";
    readonly metadata: { readonly name: string };
    readonly spec: {
        readonly group: string;
        readonly scope: "Cluster";
        readonly names: {
            readonly plural: string;
            readonly singular: string;
            readonly kind: string;
            readonly listKind: string;
            readonly shortNames: readonly string[];
        };
        readonly versions: readonly {
            readonly name: string;
            readonly served: true;
            readonly storage: true;
            readonly subresources?: { readonly status: Readonly<Record<string, never>> };
            readonly selectableFields?: readonly { readonly jsonPath: string }[];
            readonly additionalPrinterColumns: readonly PrinterColumn[];
            readonly schema: { readonly openAPIV3Schema: StructuralSchema };
        }[];
    };
}

interface Definition {
    readonly resource: typeof ipPools | typeof ipAllocations;
    readonly shortName: string;
    readonly status: boolean;
    readonly selectable: readonly string[];
    readonly columns: readonly PrinterColumn[];
    /** Of the whole object, `metadata` aside. */
    readonly schema: z.ZodObject;
    /** Rules of the whole object. */
    readonly rules: readonly unknown[];
}

const pools: Definition = {
    resource: ipPools,
    shortName: "ipp",
    status: true,
    selectable: [],
    columns: [
        numberColumn("Version", ".spec.ipVersion", "IP version of the addresses."),
        numberColumn("Total", ".status.usage.total", "Addresses that can be handed out."),
        numberColumn("Used", ".status.usage.used", "Addresses that a Pod uses."),
        numberColumn("Reserved", ".status.usage.reserved", "Addresses that are kept for a Pod to come."),
        numberColumn("Free", ".status.usage.free", "Addresses that are neither used nor reserved."),
        column("Ready", '.status.conditions[?(@.type=="Ready")].status', "Whether Pods can get addresses of it."),
        age,
        // A path with a wildcard shows the first match only, so the whole list is shown.
        wide(column("Ranges", ".spec.ipRanges", "The ranges with their gateways and VLANs.")),
    ],
    schema: z
        .object({ spec: ipPoolSpec, status: ipPoolStatus.optional() })
        .meta({ description: "IPPool is a set of addresses that Pods get theirs from." }),
    rules: [],
};

const allocations: Definition = {
    resource: ipAllocations,
    shortName: "ipa",
    status: false,
    selectable: [
        ".spec.pool",
        ".spec.block",
        ".spec.state",
        ".spec.owner.namespace",
        ".spec.owner.name",
        ".spec.pod.nodeName",
    ],
    columns: [
        column("Address", ".spec.address", "The address."),
        column("Pool", ".spec.pool", "The IPPool it was taken from."),
        column("State", ".spec.state", "Allocated to a Pod, or reserved for an owner."),
        column("Namespace", ".spec.owner.namespace", "Namespace of the owner."),
        column("Pod", ".spec.pod.name", "The Pod that uses it."),
        column("Node", ".spec.pod.nodeName", "The Node of that Pod."),
        column("Owner", ".spec.owner.kind", "Kind of who the address is kept for."),
        age,
        wide(column("Owner-Name", ".spec.owner.name", "Name of who the address is kept for.")),
        wide(numberColumn("Ordinal", ".spec.owner.index", "Ordinal of the Pod in its StatefulSet.")),
        wide(column("Interface", ".spec.pod.interface", "Interface in the Pod that has the address.")),
        wide(column("Network", ".spec.pod.network", "Network of that interface; empty for the Pod network.")),
    ],
    schema: z.object({ spec: ipAllocationSpec }).meta({
        description:
            "IPAllocation is the allocation of one address, which is its name, so that no address is allocated twice.",
    }),
    rules: [allocationNameRule],
};

/**
 * Returns the CustomResourceDefinitions of IPPool and IPAllocation, as new objects at each call. The chart's are
 * generated from them (`make generate`).
 */
export function customResourceDefinitions(): readonly CrdManifest[] {
    return [pools, allocations].map(manifest);
}

function manifest({ resource, shortName, status, selectable, columns, schema, rules }: Definition): CrdManifest {
    const { group, version, plural, kind } = resource;
    return {
        apiVersion: "apiextensions.k8s.io/v1",
        kind: "CustomResourceDefinition",
        metadata: { name: `${plural}.${group}` },
        spec: {
            group,
            scope: "Cluster",
            names: {
                plural,
                singular: kind.toLowerCase(),
                kind,
                listKind: `${kind}List`,
                shortNames: [shortName],
            },
            versions: [
                {
                    name: version,
                    served: true,
                    storage: true,
                    ...(status && { subresources: { status: {} } }),
                    ...(selectable.length > 0 && { selectableFields: selectable.map((jsonPath) => ({ jsonPath })) }),
                    additionalPrinterColumns: columns,
                    schema: { openAPIV3Schema: objectSchema(schema, rules) },
                },
            ],
        },
    };
}

// What every object has; `kubectl explain` shows these texts.
const typeMeta = {
    apiVersion: { type: "string", description: "Version of the schema of this object." },
    kind: { type: "string", description: "Kind of this object." },
    metadata: { type: "object" },
};

function objectSchema(type: z.ZodObject, rules: readonly unknown[]): StructuralSchema {
    const schema = structuralSchema(type);
    const properties = { ...typeMeta, ...(schema.properties as StructuralSchema) };
    return { ...schema, properties, ...(rules.length > 0 && { "x-kubernetes-validations": rules }) };
}
