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
import { type PlantedBug } from "./planted-bug.ts";
import { replaced } from "./replaced.ts";

const podKind = kindOf("v1", "pods");
const claimKind = kindOf("crd.antrea.io/v1alpha1", "ipallocations");
const poolKind = kindOf("crd.antrea.io/v1alpha2", "ippools");

/** When a container is to be isolated, across starts of the agent. */
const putOff = new WeakMap<Machine, Map<string, number>>();

/** State that is in use, or was, and is forgotten. */
export const forgetters: Readonly<Record<string, PlantedBug>> = {
    "del-knows-what-this-start-added": {
        source: "https://github.com/antrea-io/antrea/issues/829",
        what: "an agent frees nothing of containers that an earlier start of it added",
        plant: {
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
        what: "a start of an agent does not know the interfaces that are there",
        plant: {
            agent: (_agent, _world, { machine }) => {
                machine.ports.clear();
                for (const [name, { alias: _, ...link }] of [...machine.links]) machine.links.set(name, link);
            },
        },
    },
    "isolation-is-forgotten": {
        source: "found in this project (ipam 1)",
        what: "a start of an agent does not know which interfaces the one before isolated",
        plant: {
            agent: (_agent, _world, { machine }) => {
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
        what: "an agent isolates a container whose address another has claimed 68 s after it heard of that",
        plant: {
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
        what: "an agent that hears that its Node is gone does not isolate what will be others'",
        plant: {
            agent: (agent) => {
                agent.pools.lookAtOwnNode = () => Promise.resolve();
            },
        },
    },
    "a-gone-node-is-forgotten": {
        source: "found in this project",
        what: "a start of an agent does not know that the one before heard that their Node is gone",
        plant: {
            agent: (agent) => {
                agent.pools.recallGone = () => undefined;
            },
        },
    },
    "static-pods-are-not-known": {
        source: "found in this project (static Pods)",
        what: "an agent looks for the Pod of a container by the UID of its object only, which for a static Pod is its mirror's",
        plant: {
            agent: ({ pools: { pods: known } }) => {
                const byObject = (uid: string, pod: Pod | undefined): Pod | undefined =>
                    pod?.metadata?.uid === uid ? pod : undefined;
                const [told, live] = [known.known.bind(known), known.live.bind(known)];
                known.known = (pod) => byObject(pod.uid, told(pod));
                known.live = async (pod, signal) => byObject(pod.uid, await live(pod, signal));
            },
        },
    },
    "claims-in-subnets-are-overlooked": {
        source: "found in this project (ipam 2)",
        what: "an agent does not look for claims of addresses that its Node's subnet has handed out",
        plant: {
            agent: (agent) => {
                agent.pools.lookAtSubnets = () => Promise.resolve();
            },
        },
    },
    "claims-outside-pools-are-overlooked": {
        source: "found in this project (claims were watched by pool)",
        what: "an agent does not know the claims in its Node's subnet whose pool is gone",
        plant: {
            agent: (agent, { server: { store } }) => {
                const { pools } = agent;
                const isOverlooked = (ip: IpAddress): boolean => {
                    const claim = store.get(claimKind, allocationName(ip))?.object as IpAllocation | undefined;
                    return claim !== undefined && store.get(poolKind, claim.spec.pool) === undefined;
                };
                const isClaimed = pools.isClaimed.bind(pools);
                pools.isClaimed = (ip) => (isOverlooked(ip) ? false : isClaimed(ip));
                const look = pools.lookAtSubnets.bind(pools);
                pools.lookAtSubnets = (wiring, signal) => {
                    const interfaces = (): ReturnType<typeof wiring.interfaces> =>
                        wiring.interfaces().filter(({ addresses }) => !addresses.some(isOverlooked));
                    return look({ ...wiring, interfaces }, signal);
                };
            },
        },
    },
    "subnets-of-others-are-overlooked": {
        source: "found in this project",
        what: "an agent does not look whether what its Pods kept of an earlier subnet is another Node's by now",
        plant: {
            agent: ({ pools: { subnetHolders } }) => {
                subnetHolders.heldElsewhere = () => [];
            },
        },
    },
    "records-of-replaced-pods-stay": {
        source: "https://github.com/kubeovn/kube-ovn/issues/5688",
        what: "what a Pod of a Deployment had is kept when another Pod takes its place",
        plant: {
            agent: (agent) => forget(agent, ({ spec: { pod } }) => pod?.name.startsWith("dep-") === true),
        },
    },
    "fixed-addresses-stay": {
        source: "https://github.com/projectcalico/calico/issues/4694",
        what: "an address that a Pod asked for by annotation is not freed at its end",
        plant: {
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
        what: "a StatefulSet's Pod asks for any address while its own is kept for it, and finds the pool full",
        plant: {
            agent: ({ pools: { allocator } }) => {
                const claim = allocator.claim.bind(allocator);
                allocator.claim = (request, signal) => claim({ ...request, statefulSet: undefined }, signal);
            },
        },
    },
    "reservations-outlive-their-set": {
        source: "https://github.com/kubeovn/kube-ovn/issues/5367",
        what: "what is kept for somebody who has no Pod just now stays when that one is deleted",
        plant: {
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
        what: "a Pod that ended on a Node that is out of service counts as if it were there",
        plant: {
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
        what: "the cleaner waits for ever for one answer",
        plant: {
            controller: (api) => {
                const find = api.find.bind(api);
                api.find = (resource, ref, o) =>
                    resource.plural === nodes.plural ? new Promise(() => undefined) : find(resource, ref, o);
            },
        },
    },
    "subnets-of-gone-nodes-stay": {
        source: "https://github.com/cilium/cilium/issues/40350",
        what: "the subnet of a Node that is gone is never given to another",
        plant: { keepsSubnets: true },
    },
    "namespaces-are-known-by-name": {
        source: "found in this project (ipam 11)",
        what: "an agent remembers what a Namespace of the name said, also of one that is gone",
        plant: {
            agent: (_agent, _world, { agentLine }) => {
                const api = agentLine?.api;
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
        plant: {
            product: () =>
                replaced(PoolAddresses.prototype, "follow", () => ({
                    inTheWay: { pools: [], claims: [] },
                    release: () => Promise.resolve(false),
                    [Symbol.dispose]: () => undefined,
                })),
        },
    },
    "gateways-are-not-looked-up": {
        source: "found in this project (ipam 3)",
        what: "a pool is judged without a look at who has its gateway",
        plant: {
            webhook: (api) => {
                const find = api.find.bind(api);
                api.find = (resource, ref, o) =>
                    resource.plural === ipAllocations.plural ? Promise.resolve(undefined) : find(resource, ref, o);
            },
        },
    },
};

/** The agent releases none of these allocations, neither at DEL nor in its search for leaks. */
function forget({ pools: { own } }: Agent, isForgotten: (claim: IpAllocation) => boolean): void {
    const list = own.list.bind(own);
    own.list = () => list().filter((claim) => !isForgotten(claim));
}

async function hasPod(api: ApiClient, name: string): Promise<boolean> {
    return (await api.find(ipAllocations, { name }))?.spec.pod !== undefined;
}
