import { type IpAllocation, ipAllocations } from "@antrea/crd";
import { isKubeError, type ApiClient } from "@antrea/kube";
import { type PlantedBug } from "./planted-bug.ts";

/** Allocations that are created, taken over or released without regard to other writers. */
export const claimers: Readonly<Record<string, PlantedBug>> = {
    "wrong-index": {
        source: "https://github.com/antrea-io/antrea/pull/7945",
        what: "the Pod is given the address beside the one that was claimed",
        plant: {
            agent: ({ pools: { allocator } }) => {
                const claim = allocator.claim.bind(allocator);
                allocator.claim = async (request, signal) =>
                    (await claim(request, signal)).map((one) => ({
                        ...one,
                        ip: { ...one.ip, value: one.ip.value ^ 1n },
                    }));
            },
        },
    },
    "pools-do-not-know-each-other": {
        source: "https://github.com/antrea-io/antrea/issues/7306",
        what: "an address that another pool has given away counts as free",
        plant: {
            agent: (_agent, _world, { agentLine }) => {
                shareIf(agentLine?.api, (live, wanted) => live.spec.pool !== wanted.spec.pool);
            },
        },
    },
    "truth-in-memory": {
        source: "https://github.com/kubeovn/kube-ovn/issues/4304",
        what: "an agent believes what it remembers: the claim of another is no obstacle",
        plant: {
            agent: (_agent, _world, { agentLine }) => shareIf(agentLine?.api, () => true),
        },
    },
    "retry-overwrites": {
        source: "https://github.com/openshift/ovn-kubernetes/pull/1132",
        what: "a write that meets a conflict is made again over whatever is there",
        plant: {
            agent: (_agent, _world, { agentLine }) => {
                const api = agentLine?.api;
                if (api === undefined) return;
                const update = api.update.bind(api);
                api.update = async (resource, object, o) => {
                    try {
                        return await update(resource, object, o);
                    } catch (error) {
                        if (!isKubeError(error, "CONFLICT")) throw error;
                        const { name = "", ...metadata } = object.metadata ?? {};
                        const live = await api.get(resource, { name });
                        const { uid, resourceVersion } = live.metadata ?? {};
                        return update(
                            resource,
                            { ...object, metadata: { ...metadata, name, uid, resourceVersion } } as typeof object,
                            o,
                        );
                    }
                };
            },
        },
    },
    "late-release-has-no-fence": {
        source: "https://github.com/spidernet-io/spiderpool/issues/2526",
        what: "a release deletes the claim of the address, whoever's it is by then",
        plant: {
            agent: (_agent, _world, { agentLine }) => {
                const api = agentLine?.api;
                if (api === undefined) return;
                const remove = api.delete.bind(api);
                api.delete = (resource, ref, { uid: _uid, resourceVersion: _version, ...o } = {}) =>
                    remove(resource, ref, o);
            },
        },
    },
    "claims-have-no-fence": {
        source: "found in this project (ipam 4)",
        what: "an agent wires by the pool as its watch told it last, whatever the pool has become since",
        plant: {
            agent: ({ pools: { book } }) => {
                book.live = (name, { signal }) => book.find(name, signal);
            },
        },
    },
    "every-sandbox-claims-anew": {
        source: "https://github.com/k8snetworkplumbingwg/whereabouts/issues/291",
        what: "what a Pod has already is not looked for, and a claim whose Pod lives is never surplus",
        plant: {
            agent: ({ pools: { own } }) => {
                own.ofPod = () => [];
            },
        },
    },
    "full-for-ever": {
        source: "https://github.com/cilium/cilium/issues/47910",
        what: "a pool that was once listed as full stays so for this agent",
        plant: {
            agent: ({ pools: { allocator } }) => {
                const claim = allocator.claim.bind(allocator);
                const full = new Set<string>();
                allocator.claim = async (request, signal) => {
                    const key = request.pools.join();
                    if (full.has(key)) throw new Error("exhausted");
                    try {
                        return await claim(request, signal);
                    } catch (error) {
                        if ((error as { readonly code?: string }).code === "EXHAUSTED") full.add(key);
                        throw error;
                    }
                };
            },
        },
    },
};

/** Takes over a conflicting allocation. */
function shareIf(api: ApiClient | undefined, isShared: (live: IpAllocation, wanted: IpAllocation) => boolean): void {
    if (api === undefined) return;
    const create = api.create.bind(api);
    api.create = async (resource, object, o) => {
        try {
            return await create(resource, object, o);
        } catch (error) {
            if (resource.plural !== ipAllocations.plural || !isKubeError(error, "ALREADY_EXISTS")) throw error;
            const wanted = object as unknown as IpAllocation;
            const live = await api.find(ipAllocations, { name: wanted.metadata?.name ?? "" });
            if (live === undefined || !isShared(live, wanted)) throw error;
            return { ...object, metadata: live.metadata } as typeof object;
        }
    };
}
