import { aborted } from "@antrea/async";
import { type IpAllocation, ipAllocations } from "@antrea/crd";
import { type Node, type Pod, pods } from "@antrea/kube";
import { controllerUser } from "../api/rules.ts";
import { kindOf } from "../api/server.ts";
import { type SimulatedCluster } from "../simulated-cluster.ts";
import { AllocationCleaner } from "@antrea/controller/features/allocation-cleaner";
import { type SeededBug } from "./seeded-bug.ts";
import { replaced } from "./replaced.ts";

const podKind = kindOf("v1", "pods");
const nodeKind = kindOf("v1", "nodes");
const allocationKind = kindOf("crd.antrea.io/v1alpha1", "ipallocations");

/** Cleaners that rely on stale or misinterpreted state: the largest group of published defects. */
export const cleaners: Readonly<Record<string, SeededBug>> = {
    "startup-cleaner-trusts-pod-status": {
        source: "https://github.com/antrea-io/antrea/issues/8239",
        what: "at its start the agent releases allocations whose address is not yet in the Pod's status",
        hooks: {
            agent: (agent, cluster, { machine, agentTransport }) => {
                cluster.time.after(1_500, () => void clean());
                const clean = async (): Promise<void> => {
                    for (const allocation of agent.pools.own.list()) {
                        const { namespace = "", name = "" } = allocation.spec.pod ?? {};
                        const pod = await agentTransport?.api.find(pods, { namespace, name });
                        if (
                            agent.isKilled ||
                            pod?.status?.podIPs?.some(({ ip }) => ip === allocation.spec.address) === true
                        )
                            continue;
                        if (allocation.spec.owner.kind !== "Pod" || !machine.isOn) continue;
                        await agentTransport?.api
                            .delete(ipAllocations, { name: allocation.metadata?.name ?? "" })
                            .catch(() => undefined);
                    }
                };
            },
        },
    },
    "cleaner-knows-pods-by-name": {
        source: "https://github.com/k8snetworkplumbingwg/whereabouts/issues/176",
        what: "one second after a Pod is deleted all allocations of its name are released, also those of a new Pod of that name",
        hooks: {
            cluster: (cluster) => {
                cluster.server.store.onChange(({ kind, before, after }) => {
                    if (kind !== podKind || after !== undefined) return;
                    const { namespace, name } = before?.object.metadata ?? {};
                    cluster.time.after(1_000, () =>
                        freeAll(cluster, ({ spec: { pod } }) => pod?.namespace === namespace && pod?.name === name),
                    );
                });
            },
        },
    },
    "cleaner-frees-pending-pods": {
        source: "https://github.com/k8snetworkplumbingwg/whereabouts/issues/162",
        what: "a periodic cleaner releases allocations of Pods that are not Running",
        hooks: {
            cluster: (cluster) =>
                periodically(cluster, 5_000, () =>
                    freeAll(cluster, ({ spec: { pod } }) => {
                        const live = cluster.server.store.get(podKind, `${pod?.namespace}/${pod?.name}`)?.object as
                            Pod | undefined;
                        return pod !== undefined && live?.status?.phase !== "Running";
                    }),
                ),
        },
    },
    "cleaner-frees-at-the-end-of-grace": {
        source: "https://github.com/spidernet-io/spiderpool/pull/3902",
        what: "the addresses of a Pod are released 10 s after its deletion started, whichever Pod has them by then",
        hooks: {
            cluster: (cluster) => {
                cluster.server.store.onChange(({ kind, before, after }) => {
                    if (kind !== podKind || after?.object.metadata?.deletionTimestamp === undefined) return;
                    if (before?.object.metadata?.deletionTimestamp !== undefined) return;
                    const { uid } = after.object.metadata;
                    const had = [...cluster.truth.allocations].filter(([, { spec }]) => spec.pod?.uid === uid);
                    const names = new Set(had.map(([name]) => name));
                    cluster.time.after(10_000, () =>
                        freeAll(cluster, ({ metadata }) => names.has(metadata?.name ?? "")),
                    );
                });
            },
        },
    },
    "sticky-address-goes-with-its-pod": {
        source: "https://github.com/kubeovn/kube-ovn/issues/1809",
        what: "the address of a StatefulSet's Pod is released as soon as the Pod is deleted",
        hooks: {
            cluster: (cluster) => {
                cluster.server.store.onChange(({ kind, key, before, after }) => {
                    if (kind !== allocationKind || before === undefined || after === undefined) return;
                    const wasUsed = (before.object as IpAllocation).spec.pod !== undefined;
                    if (!wasUsed || (after.object as IpAllocation).spec.pod !== undefined) return;
                    const path = `/apis/crd.antrea.io/v1alpha1/ipallocations/${key}`;
                    cluster.time.after(
                        10,
                        () => void cluster.request({ method: "DELETE", path }, { name: controllerUser }),
                    );
                });
            },
        },
    },
    "cleaner-takes-unreachable-for-gone": {
        source: "https://github.com/spidernet-io/spiderpool/issues/3751",
        what: "allocations of an unreachable Node are released while its containers keep running",
        hooks: {
            cluster: (cluster) =>
                periodically(cluster, 5_000, () =>
                    freeAll(cluster, ({ spec: { pod } }) => cluster.station(pod?.nodeName ?? "")?.isCut === true),
                ),
        },
    },
    "cleaner-keeps-an-old-node-list": {
        source: "https://github.com/projectcalico/calico/issues/12257",
        what: "the cleaner never learns that a Node was recreated, and treats the allocations of that name as leaked",
        hooks: {
            cluster: (cluster) => {
                const gone = new Set<string>();
                cluster.server.store.onChange(({ kind, key, before, after }) => {
                    if (kind === nodeKind && after === undefined && (before?.object as Node).metadata !== undefined)
                        gone.add(key);
                });
                periodically(cluster, 5_000, () =>
                    freeAll(cluster, ({ spec: { pod } }) => gone.has(pod?.nodeName ?? "")),
                );
            },
        },
    },
    "allocations-of-lost-nodes-stay": {
        source: "https://github.com/k8snetworkplumbingwg/whereabouts/issues/75, https://github.com/kubernetes/kubernetes/issues/65943",
        what: "allocations of a Node that does not return are never released",
        hooks: { product: () => replaced(AllocationCleaner.prototype, "run", aborted) },
    },
    "agent-does-not-look-for-leaks": {
        source: "https://github.com/antrea-io/antrea/issues/3384",
        what: "allocations whose DEL never came, or was lost at a restart of the agent, are never released",
        hooks: {
            agent: ({ pools: { own } }) => {
                const all = own.list.bind(own);
                const { ofOrdinal } = own;
                // Only the search for leaks lists all allocations; other lists are unchanged.
                const allocations = { list: all } as typeof own;
                own.list = () => [];
                own.ofOrdinal = (namespace, place) => ofOrdinal.call(allocations, namespace, place);
            },
        },
    },
};

/** Works again and again, in an interval of so many milliseconds. */
export function periodically(cluster: SimulatedCluster, ms: number, work: () => void): void {
    cluster.time.after(ms, () => {
        work();
        periodically(cluster, ms, work);
    });
}

/** Releases allocations in use, and reserves those of StatefulSets. */
export function freeAll(cluster: SimulatedCluster, isToBeFreed: (allocation: IpAllocation) => boolean): void {
    for (const [name, allocation] of [...cluster.truth.allocations]) {
        if (allocation.spec.pod === undefined || !isToBeFreed(allocation)) continue;
        const path = `/apis/crd.antrea.io/v1alpha1/ipallocations/${name}`;
        const { pod: _, ...spec } = allocation.spec;
        const user = { name: controllerUser };
        if (spec.owner.kind !== "StatefulSet") void cluster.request({ method: "DELETE", path }, user);
        else
            void cluster.request(
                { method: "PUT", path, body: JSON.stringify({ ...allocation, spec: { ...spec, state: "Reserved" } }) },
                user,
            );
    }
}
