import { aborted } from "@antrea/async";
import { type IpAllocation, ipAllocations } from "@antrea/crd";
import { type Node, type Pod, pods } from "@antrea/kube";
import { controllerUser } from "../api/rules.ts";
import { kindOf } from "../api/server.ts";
import { type World } from "../world.ts";
import { ClaimCleaner } from "@antrea/controller/features/claim-cleaner";
import { type PlantedBug } from "./planted-bug.ts";
import { replaced } from "./replaced.ts";

const podKind = kindOf("v1", "pods");
const nodeKind = kindOf("v1", "nodes");
const claimKind = kindOf("crd.antrea.io/v1alpha1", "ipallocations");

/** Cleaners that rely on stale or misinterpreted state: the largest group of published defects. */
export const cleaners: Readonly<Record<string, PlantedBug>> = {
    "startup-cleaner-trusts-pod-status": {
        source: "https://github.com/antrea-io/antrea/issues/8239",
        what: "at its start the agent frees claims whose address the Pod's status does not have yet",
        plant: {
            agent: (agent, world, { machine, agentLine }) => {
                world.time.after(1_500, () => void clean());
                const clean = async (): Promise<void> => {
                    for (const claim of agent.pools.own.list()) {
                        const { namespace = "", name = "" } = claim.spec.pod ?? {};
                        const pod = await agentLine?.api.find(pods, { namespace, name });
                        if (agent.isKilled || pod?.status?.podIPs?.some(({ ip }) => ip === claim.spec.address) === true)
                            continue;
                        if (claim.spec.owner.kind !== "Pod" || !machine.isOn) continue;
                        await agentLine?.api
                            .delete(ipAllocations, { name: claim.metadata?.name ?? "" })
                            .catch(() => undefined);
                    }
                };
            },
        },
    },
    "cleaner-knows-pods-by-name": {
        source: "https://github.com/k8snetworkplumbingwg/whereabouts/issues/176",
        what: "a moment after a Pod is gone all claims of its name are freed, also those of the Pod that has the name now",
        plant: {
            world: (world) => {
                world.server.store.onChange(({ kind, before, after }) => {
                    if (kind !== podKind || after !== undefined) return;
                    const { namespace, name } = before?.object.metadata ?? {};
                    world.time.after(1_000, () =>
                        freeAll(world, ({ spec: { pod } }) => pod?.namespace === namespace && pod?.name === name),
                    );
                });
            },
        },
    },
    "cleaner-frees-pending-pods": {
        source: "https://github.com/k8snetworkplumbingwg/whereabouts/issues/162",
        what: "a periodic cleaner frees claims of Pods that are not Running",
        plant: {
            world: (world) =>
                periodically(world, 5_000, () =>
                    freeAll(world, ({ spec: { pod } }) => {
                        const live = world.server.store.get(podKind, `${pod?.namespace}/${pod?.name}`)?.object as
                            Pod | undefined;
                        return pod !== undefined && live?.status?.phase !== "Running";
                    }),
                ),
        },
    },
    "cleaner-frees-at-the-end-of-grace": {
        source: "https://github.com/spidernet-io/spiderpool/pull/3902",
        what: "the addresses that a Pod had when its deletion began are freed a while later, whoever has them by then",
        plant: {
            world: (world) => {
                world.server.store.onChange(({ kind, before, after }) => {
                    if (kind !== podKind || after?.object.metadata?.deletionTimestamp === undefined) return;
                    if (before?.object.metadata?.deletionTimestamp !== undefined) return;
                    const { uid } = after.object.metadata;
                    const had = [...world.truth.claims].filter(([, { spec }]) => spec.pod?.uid === uid);
                    const names = new Set(had.map(([name]) => name));
                    world.time.after(10_000, () => freeAll(world, ({ metadata }) => names.has(metadata?.name ?? "")));
                });
            },
        },
    },
    "sticky-address-goes-with-its-pod": {
        source: "https://github.com/kubeovn/kube-ovn/issues/1809",
        what: "the address of a StatefulSet's Pod is free for all as soon as the Pod is gone",
        plant: {
            world: (world) => {
                world.server.store.onChange(({ kind, key, before, after }) => {
                    if (kind !== claimKind || before === undefined || after === undefined) return;
                    const wasUsed = (before.object as IpAllocation).spec.pod !== undefined;
                    if (!wasUsed || (after.object as IpAllocation).spec.pod !== undefined) return;
                    const path = `/apis/crd.antrea.io/v1alpha1/ipallocations/${key}`;
                    world.time.after(
                        10,
                        () => void world.request({ method: "DELETE", path }, { name: controllerUser }),
                    );
                });
            },
        },
    },
    "cleaner-takes-unreachable-for-gone": {
        source: "https://github.com/spidernet-io/spiderpool/issues/3751",
        what: "claims of a Node that cannot be reached are freed while its containers run on",
        plant: {
            world: (world) =>
                periodically(world, 5_000, () =>
                    freeAll(world, ({ spec: { pod } }) => world.station(pod?.nodeName ?? "")?.isCut === true),
                ),
        },
    },
    "cleaner-keeps-an-old-node-list": {
        source: "https://github.com/projectcalico/calico/issues/12257",
        what: "the cleaner never learns that a Node is there again, and takes the claims of that name for leaked",
        plant: {
            world: (world) => {
                const gone = new Set<string>();
                world.server.store.onChange(({ kind, key, before, after }) => {
                    if (kind === nodeKind && after === undefined && (before?.object as Node).metadata !== undefined)
                        gone.add(key);
                });
                periodically(world, 5_000, () => freeAll(world, ({ spec: { pod } }) => gone.has(pod?.nodeName ?? "")));
            },
        },
    },
    "claims-of-lost-nodes-stay": {
        source: "https://github.com/k8snetworkplumbingwg/whereabouts/issues/75, https://github.com/kubernetes/kubernetes/issues/65943",
        what: "nobody frees what a Node held that does not come back",
        plant: { product: () => replaced(ClaimCleaner.prototype, "run", aborted) },
    },
    "agent-does-not-look-for-leaks": {
        source: "https://github.com/antrea-io/antrea/issues/3384",
        what: "what the runtime never deletes, or an agent forgets as it is restarted, stays claimed",
        plant: {
            agent: ({ pools: { own } }) => {
                const all = own.list.bind(own);
                const { ofContainer, ofOrdinal } = own;
                // Only the search for leaks lists all allocations; other lists are unchanged.
                const claims = { list: all } as typeof own;
                own.list = () => [];
                own.ofContainer = (attachment) => ofContainer.call(claims, attachment);
                own.ofOrdinal = (namespace, place) => ofOrdinal.call(claims, namespace, place);
            },
        },
    },
};

function periodically(world: World, ms: number, work: () => void): void {
    world.time.after(ms, () => {
        work();
        periodically(world, ms, work);
    });
}

function freeAll(world: World, isToBeFreed: (claim: IpAllocation) => boolean): void {
    for (const [name, claim] of [...world.truth.claims]) {
        if (claim.spec.pod === undefined || !isToBeFreed(claim)) continue;
        const path = `/apis/crd.antrea.io/v1alpha1/ipallocations/${name}`;
        const { pod: _, ...spec } = claim.spec;
        const user = { name: controllerUser };
        if (spec.owner.kind !== "StatefulSet") void world.request({ method: "DELETE", path }, user);
        else
            void world.request(
                { method: "PUT", path, body: JSON.stringify({ ...claim, spec: { ...spec, state: "Reserved" } }) },
                user,
            );
    }
}
