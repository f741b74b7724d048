import { allocationName, podIpsAnnotation, type IpAllocation, ipAllocations } from "@antrea/crd";
import { type IpAddress } from "@antrea/ip";
import {
    namespaces,
    nodes,
    pods,
    type ApiClient,
    type CallOptions,
    type KubeObject,
    type ObjectRef,
    type Pod,
    type Resource,
} from "@antrea/kube";
import { kindOf } from "../api/server.ts";
import { type Agent } from "../cluster/agent.ts";
import { type Machine } from "../machine/machine.ts";
import { PoolAddresses } from "@antrea/controller/features/node-ipam";
import { type SeededBug } from "./seeded-bug.ts";
import { replaced } from "./replaced.ts";

const podKind = kindOf("v1", "pods");
const allocationKind = kindOf("crd.antrea.io/v1alpha1", "ipallocations");
const poolKind = kindOf("crd.antrea.io/v1alpha2", "ippools");

/** When a container is to be isolated, across starts of the agent. */
const putOff = new WeakMap<Machine, Map<string, number>>();

/** State that is in use, or was, and is forgotten. */
export const forgetters: Readonly<Record<string, SeededBug>> = {
    "del-knows-what-this-start-added": {
        source: "https://github.com/antrea-io/antrea/issues/829",
        what: "an agent releases nothing of containers that were added before its restart",
        hooks: {
            agent: (agent) => {
                const added = new Set<string>();
                const { allocator } = agent.pools;
                const claim = allocator.claim.bind(allocator);
                allocator.claim = (request, signal) => {
                    added.add(request.containerId);
                    return claim(request, signal);
                };
                forget(agent, ({ spec: { pod } }) => !added.has(pod?.containerID ?? ""));
            },
        },
    },
    "agent-forgets-its-records": {
        source: "https://github.com/antrea-io/antrea/issues/5623",
        what: "an agent does not restore its interface records after a restart",
        hooks: {
            agent: (_agent, _cluster, { machine }) => {
                machine.ports.clear();
                for (const [name, { alias: _, ...link }] of [...machine.links]) machine.links.set(name, link);
            },
        },
    },
    "isolation-is-forgotten": {
        source: "found in this project (ipam 1)",
        what: "an agent does not restore which interfaces it isolated before a restart",
        hooks: {
            agent: (_agent, _cluster, { machine }) => {
                for (const [name, port] of machine.ports) {
                    const externalIds = new Map([...port.externalIds].filter(([key]) => key !== "isolated"));
                    machine.ports.set(name, { ...port, externalIds });
                }
                for (const [name, { alias, ...link }] of machine.links)
                    machine.links.set(name, { ...link, ...(alias && { alias: alias.replace(/ iso(?= |$)/, " -") }) });
            },
        },
    },
    "isolation-is-put-off": {
        source: "found in this project (a check that accepted it)",
        what: "an agent isolates a container whose address is allocated to another Pod 68 s after it learned of that",
        hooks: {
            agent: (agent, { time }, { machine }) => {
                const { pools } = agent;
                const reconcile = pools.reconcile.bind(pools);
                pools.reconcile = (wiring, signal) => {
                    const isolate: typeof wiring.isolate = async (wired) => {
                        const before = putOff.get(machine) ?? new Map<string, number>();
                        const due = before.get(wired.containerId) ?? time.now + 68_000;
                        putOff.set(machine, before.set(wired.containerId, due));
                        // A deleted Node is a separate case.
                        if (time.now >= due || pools.nodeGoneAt !== undefined) return wiring.isolate(wired);
                        time.at(due, () => {
                            if (!agent.isKilled) void wiring.isolate(wired).catch(() => undefined);
                        });
                    };
                    return reconcile({ ...wiring, isolate }, signal);
                };
            },
        },
    },
    "a-gone-node-goes-on": {
        source: "found in this project (ipam 5)",
        what: "an agent that learns that its Node was deleted does not isolate containers whose addresses will be reallocated",
        hooks: {
            agent: (agent) => {
                agent.pools.checkOwnNode = () => Promise.resolve();
            },
        },
    },
    "a-gone-node-is-forgotten": {
        source: "found in this project",
        what: "an agent does not remember after a restart that its Node was deleted",
        hooks: {
            agent: (agent) => {
                agent.pools.recallGone = () => undefined;
            },
        },
    },
    "static-pods-are-not-known": {
        source: "found in this project (static Pods)",
        what: "an agent finds the Pod of a container only by the object's UID, which for a static Pod is that of its mirror Pod",
        hooks: {
            agent: ({ pools: { pods: known } }) => {
                const byObject = (uid: string, pod: Pod | undefined): Pod | undefined =>
                    pod?.metadata?.uid === uid ? pod : undefined;
                const [cached, live] = [known.known.bind(known), known.live.bind(known)];
                known.known = (pod) => byObject(pod.uid, cached(pod));
                known.live = async (pod, signal) => byObject(pod.uid, await live(pod, signal));
            },
        },
    },
    "allocations-in-subnets-are-overlooked": {
        source: "found in this project (ipam 2)",
        what: "an agent does not detect allocations of addresses that its Pods have from its Node's subnet",
        hooks: {
            agent: (agent) => {
                agent.pools.podCidrs.check = () => Promise.resolve();
            },
        },
    },
    "allocations-outside-pools-are-overlooked": {
        source: "found in this project (allocations were watched by pool)",
        what: "an agent does not see allocations in its Node's subnet whose pool was deleted",
        hooks: {
            agent: (agent, { server: { store } }) => {
                const { pools } = agent;
                const isOverlooked = (ip: IpAddress): boolean => {
                    const allocation = store.get(allocationKind, allocationName(ip))?.object as
                        IpAllocation | undefined;
                    return allocation !== undefined && store.get(poolKind, allocation.spec.pool) === undefined;
                };
                const isClaimed = pools.podCidrs.isClaimed.bind(pools);
                pools.podCidrs.isClaimed = (ip) => (isOverlooked(ip) ? false : isClaimed(ip));
                const check = pools.podCidrs.check.bind(pools);
                pools.podCidrs.check = (wiring, signal) => {
                    const interfaces = (): ReturnType<typeof wiring.interfaces> =>
                        wiring.interfaces().filter(({ addresses }) => !addresses.some(isOverlooked));
                    return check({ ...wiring, interfaces }, signal);
                };
            },
        },
    },
    "subnets-of-others-are-overlooked": {
        source: "found in this project",
        what: "an agent does not detect that addresses of an earlier subnet now belong to another Node's subnet",
        hooks: {
            agent: ({ pools: { subnetHolders } }) => {
                subnetHolders.heldElsewhere = () => [];
            },
        },
    },
    "records-of-replaced-pods-stay": {
        source: "https://github.com/kubeovn/kube-ovn/issues/5688",
        what: "allocations of a Deployment's Pod are kept when another Pod replaces it",
        hooks: {
            agent: (agent) => forget(agent, ({ spec: { pod } }) => pod?.name.startsWith("dep-") === true),
        },
    },
    "fixed-addresses-stay": {
        source: "https://github.com/projectcalico/calico/issues/4694",
        what: "an address that a Pod requested by annotation is not released when the Pod ends",
        hooks: {
            agent: (agent, { server: { store } }) => {
                const asked = new Set<string>();
                store.onChange(({ kind, after }) => {
                    const { uid = "", annotations } =
                        (kind === podKind ? (after?.object as Pod)?.metadata : undefined) ?? {};
                    if (annotations?.[podIpsAnnotation] !== undefined) asked.add(uid);
                });
                forget(agent, ({ spec: { pod } }) => asked.has(pod?.uid ?? ""));
            },
        },
    },
    "set-pods-claim-like-others": {
        source: "https://github.com/k8snetworkplumbingwg/whereabouts/issues/182",
        what: "a StatefulSet's Pod requests any address although one is reserved for it, and finds the pool full",
        hooks: {
            agent: ({ pools: { allocator } }) => {
                const claim = allocator.claim.bind(allocator);
                allocator.claim = (request, signal) => claim({ ...request, statefulSet: undefined }, signal);
            },
        },
    },
    "reservations-outlive-their-set": {
        source: "https://github.com/kubeovn/kube-ovn/issues/5367",
        what: "reservations without a Pod are not released when their owner is deleted",
        hooks: {
            controller: (api) => {
                const remove = api.delete.bind(api);
                api.delete = async (resource, ref, o) => {
                    if (resource.plural !== ipAllocations.plural || (await hasPod(api, ref.name)))
                        await remove(resource, ref, o);
                };
            },
        },
    },
    "terminating-pods-keep-all": {
        source: "https://github.com/k8snetworkplumbingwg/whereabouts/pull/485",
        what: "a Pod that ended on a Node that is out of service is treated as running",
        hooks: {
            controller: (api, { server: { store } }) => {
                const ended: Pod[] = [];
                store.onChange(({ kind, before, after }) => {
                    if (kind === podKind && before !== undefined && after === undefined) ended.push(before.object);
                });
                const list = api.list.bind(api);
                api.list = async (resource, o) => {
                    const found = await list(resource, o);
                    const items = [...found.items, ...(ended as readonly unknown[] as typeof found.items)];
                    return resource.plural === pods.plural ? { ...found, items } : found;
                };
            },
        },
    },
    "cleaner-freezes": {
        source: "https://github.com/projectcalico/calico/issues/8643",
        what: "the cleaner waits forever for one response",
        hooks: {
            controller: (api) => {
                const find = api.find.bind(api);
                api.find = (resource, ref, o) =>
                    resource.plural === nodes.plural ? new Promise(() => undefined) : find(resource, ref, o);
            },
        },
    },
    "subnets-of-gone-nodes-stay": {
        source: "https://github.com/cilium/cilium/issues/40350",
        what: "the subnet of a deleted Node is never reassigned",
        hooks: { keepsSubnets: true },
    },
    "namespaces-are-known-by-name": {
        source: "found in this project (ipam 11)",
        what: "an agent caches the annotations of a Namespace by name, also after the Namespace was deleted",
        hooks: {
            agent: (_agent, _cluster, { agentTransport }) => {
                const api = agentTransport?.api;
                if (api === undefined) return;
                const known = new Map<string, unknown>();
                const find = api.find.bind(api);
                api.find = async <T extends KubeObject>(resource: Resource<T>, ref: ObjectRef, o?: CallOptions) => {
                    if (resource.plural !== namespaces.plural) return find(resource, ref, o);
                    const found = (known.get(ref.name) as T | undefined) ?? (await find(resource, ref, o));
                    known.set(ref.name, found);
                    return found;
                };
            },
        },
    },
    "subnets-ignore-pools": {
        source: "found in this project (ipam 2)",
        what: "Nodes get subnets in which pools have addresses",
        hooks: {
            product: () =>
                replaced(PoolAddresses.prototype, "follow", () => ({
                    obstacles: { pools: [], allocations: [] },
                    release: () => Promise.resolve(false),
                    [Symbol.dispose]: () => undefined,
                })),
        },
    },
    "gateways-are-not-looked-up": {
        source: "found in this project (ipam 3)",
        what: "a pool is reviewed without a check whether its gateway is in use",
        hooks: {
            webhook: (api) => {
                const find = api.find.bind(api);
                api.find = (resource, ref, o) =>
                    resource.plural === ipAllocations.plural ? Promise.resolve(undefined) : find(resource, ref, o);
            },
        },
    },
};

/** The agent releases none of these allocations, neither at DEL nor in its search for leaks. */
function forget({ pools: { own } }: Agent, isForgotten: (allocation: IpAllocation) => boolean): void {
    const list = own.list.bind(own);
    const ofContainer = own.ofContainer.bind(own);
    own.list = () => list().filter((allocation) => !isForgotten(allocation));
    own.ofContainer = (attachment) => ofContainer(attachment).filter((allocation) => !isForgotten(allocation));
}

async function hasPod(api: ApiClient, name: string): Promise<boolean> {
    return (await api.find(ipAllocations, { name }))?.spec.pod !== undefined;
}
