import { ipAllocations, type IpPool } from "@antrea/crd";
import { PoolIndex, readPool } from "@antrea/ipam";
import { parseIp, parsePrefix } from "@antrea/ip";
import { type Namespace } from "@antrea/kube";
import { PoolReviewer, type PoolReviewComponents } from "@antrea/webhook/ip-pools";
import { NetworkReviewer } from "@antrea/webhook/networks";
import { type RouteComponents } from "@antrea/webhook/routes";
import { WorkloadReviewer } from "@antrea/webhook/workloads";
import { reviewOf } from "@antrea/webhook/testing/review";
import { annotated, allocationOf, poolOf, podOf, workloadOf } from "@antrea/webhook/testing/objects";
import { isRecord } from "./fixture.ts";

const range4 = { cidr: "10.1.0.0/28", gateway: "10.1.0.1", prefixLength: 24 };
const range6 = { start: "fd00::10", end: "fd00::1f", gateway: "fd00::1", prefixLength: 64 };
const poolObjects = [poolOf("pool-a", range4), poolOf("pool-6", range6)] as readonly IpPool[];
const allocations = [allocationOf("pool-a", "10.1.0.5", "web-0"), allocationOf("pool-a", "10.1.0.6")];
const ofNamespace = allocationOf("pool-a", "10.1.0.7", { namespace: "ns", name: "p", uid: "p" });

/** The webhook's reviewers for a cluster with two pools, two allocations and a Namespace. */
export function knownCluster(): RouteComponents {
    const addresses = {
        current: { nodeAddresses: [], podCidrs: [], serviceCidrs: [], bridgedNodes: [parseIp("10.3.0.9")] },
    };
    const index = new PoolIndex(() => addresses.current);
    for (const pool of poolObjects) index.set(readPool(pool));
    const view = {
        pool: (name: string) => index.pool(name),
        all: () => index.all(),
        overlapping: (range: Parameters<typeof index.overlapping>[0]) => index.overlapping(range),
        exclusions: index.exclusions,
    };
    const pools = { ...view, live: async () => view, counted: async () => view };
    const namespace: Namespace = { metadata: { name: "ns", annotations: annotated("pool-a") } };
    // Typed, so that a new dependency of the reviewer is not missed here.
    const components: PoolReviewComponents = {
        pools,
        users: { of: () => ["Namespace ns"] },
        networks: {
            of: async () => ["NetworkAttachmentDefinition ns/net1"],
            withAddressIn: async () => ["NetworkAttachmentDefinition ns/net1"],
        },
        addresses,
        allocations: {
            anyOf: async () => ({ allocations, references: [] }),
            of: async () => allocations,
            at: async () => allocations,
        },
        clusterCidrs: [parsePrefix("10.244.0.0/16")],
    };
    const ipPools = new PoolReviewer(components);
    const workloads = new WorkloadReviewer({
        api: {
            find: async ({ plural }) => (plural === ipAllocations.plural ? allocations[0] : namespace) as never,
            list: async () => ({ items: [ofNamespace] as never, resourceVersion: "1" }),
        },
        pools,
        namespaces: { get: (name) => (name === "ns" ? namespace : undefined) },
        pods: { get: () => ({ metadata: { name: "p", namespace: "ns", uid: "p" } }) as never },
        deployments: { get: () => workloadOf("Deployment", "d", annotated("pool-a", "10.1.0.5")) as never },
        statefulSets: { get: () => workloadOf("StatefulSet", "s", annotated("pool-a,pool-6")) as never },
    });
    return { ipPools, workloads, networks: new NetworkReviewer({ pools }), reviewsSelections: true };
}

const workload = (kind: string, object: object, oldObject: object = {}, more: object = {}): object =>
    reviewOf({
        kind: { group: "apps", version: "v1", kind },
        resource: { group: "apps", version: "v1", resource: `${kind.toLowerCase()}s` },
        namespace: "ns",
        object,
        oldObject,
        ...more,
    });

/** One request of each kind that the webhook reviews. */
export const reviews: readonly object[] = [
    reviewOf({
        operation: "CREATE",
        object: poolOf("pool-b", { cidr: "10.2.0.0/24", gateway: "10.2.0.1", prefixLength: 24, vlan: 7 }),
    }),
    reviewOf({
        operation: "CREATE",
        object: poolOf(
            "pool-b",
            { start: "10.1.0.9", end: "10.1.0.20", gateway: "10.1.0.1", prefixLength: 24 },
            range4,
        ),
    }),
    reviewOf({
        operation: "CREATE",
        object: poolOf("pool-b", range6, { cidr: "fd00:1::/120", gateway: "fd00:1::1", prefixLength: 120 }),
    }),
    reviewOf({ oldObject: poolOf("pool-a", range4), object: poolOf("pool-a", { ...range4, cidr: "10.1.0.0/29" }) }),
    reviewOf({
        oldObject: poolOf("pool-a", range4),
        object: poolOf("pool-a", { ...range4, gateway: "10.1.0.2", prefixLength: 25, vlan: 9 }),
    }),
    reviewOf({ operation: "DELETE", object: null, oldObject: poolOf("pool-a", range4) }),
    workload("Pod", podOf("p", annotated("pool-a", "10.1.0.9,fd00::11")), {}, { operation: "CREATE" }),
    workload("Pod", podOf("p", annotated("pool-a")), podOf("p", annotated("pool-6"))),
    workload(
        "Deployment",
        workloadOf("Deployment", "d", annotated("pool-a", "10.1.0.9"), { replicas: 2 }),
        {},
        { operation: "CREATE" },
    ),
    workload(
        "StatefulSet",
        workloadOf("StatefulSet", "s", annotated("pool-a,pool-6")),
        workloadOf("StatefulSet", "s", {}),
    ),
    workload(
        "Scale",
        { spec: { replicas: 3 } },
        {},
        { resource: { group: "apps", version: "v1", resource: "deployments" }, subResource: "scale", name: "d" },
    ),
    workload(
        "Namespace",
        { metadata: { name: "ns", annotations: annotated("pool-6") } },
        { metadata: { name: "ns", annotations: annotated("pool-a") } },
        { name: "ns" },
    ),
];

/**
 * The object with the fields in use, restricted to the types that the API server enforces; a field of another type is
 * left out.
 */
export function asWorkload(object: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    const spec = record(object.spec);
    const template = isRecord(spec.template) ? { template: withMeta(spec.template) } : {};
    return {
        ...withMeta(object),
        spec: {
            ...(Number.isSafeInteger(spec.replicas) && { replicas: spec.replicas }),
            ...(typeof spec.hostNetwork === "boolean" && { hostNetwork: spec.hostNetwork }),
            ...template,
        },
    };
}

function withMeta(object: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    const metadata = record(object.metadata);
    const annotations = Object.entries(record(metadata.annotations)).filter(([, value]) => typeof value === "string");
    const { name, generateName } = metadata;
    const spec = record(object.spec);
    return {
        metadata: {
            ...(typeof name === "string" && { name }),
            ...(typeof generateName === "string" && { generateName }),
            annotations: Object.fromEntries(annotations),
        },
        spec: typeof spec.hostNetwork === "boolean" ? { hostNetwork: spec.hostNetwork } : {},
    };
}

function record(value: unknown): Readonly<Record<string, unknown>> {
    return isRecord(value) ? value : {};
}
