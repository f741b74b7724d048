import { IpPoolError } from "@antrea/agent/features/ip-pools";
import { type IpAllocation, ipAllocations } from "@antrea/crd";
import { isErrorOf } from "@antrea/errors";
import { isKubeError, type ApiClient } from "@antrea/kube";
import { SimulationError } from "../error.ts";
import { type SeededBug } from "./seeded-bug.ts";

/** Allocations that are created, taken over or released without regard to other writers. */
export const claimers: Readonly<Record<string, SeededBug>> = {
    "wrong-index": {
        source: "https://github.com/antrea-io/antrea/pull/7945",
        what: "the Pod gets the address next to the allocated one",
        hooks: {
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
        what: "an address that is allocated from another pool is treated as free",
        hooks: {
            agent: (_agent, _cluster, { agentTransport }) => {
                shareIf(agentTransport?.api, (live, wanted) => live.spec.pool !== wanted.spec.pool);
            },
        },
    },
    "truth-in-memory": {
        source: "https://github.com/kubeovn/kube-ovn/issues/4304",
        what: "an agent relies on its memory: an existing allocation of another Pod does not stop it",
        hooks: {
            agent: (_agent, _cluster, { agentTransport }) => shareIf(agentTransport?.api, () => true),
        },
    },
    "retry-overwrites": {
        source: "https://github.com/openshift/ovn-kubernetes/pull/1132",
        what: "a write that fails with a conflict is repeated and overwrites the current object",
        hooks: {
            agent: (_agent, _cluster, { agentTransport }) => {
                const api = agentTransport?.api;
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
        what: "a release deletes the allocation of the address, whichever Pod has it by then",
        hooks: {
            agent: (_agent, _cluster, { agentTransport }) => {
                const api = agentTransport?.api;
                if (api === undefined) return;
                const remove = api.delete.bind(api);
                api.delete = (resource, ref, { uid: _uid, resourceVersion: _version, ...o } = {}) =>
                    remove(resource, ref, o);
            },
        },
    },
    "allocations-have-no-fence": {
        source: "found in this project (ipam 4)",
        what: "an agent wires by the pool in its cache, even if the pool has changed since",
        hooks: {
            agent: ({ pools: { cache } }) => {
                cache.live = (name, signal) => cache.find(name, signal);
            },
        },
    },
    "every-sandbox-claims-anew": {
        source: "https://github.com/k8snetworkplumbingwg/whereabouts/issues/291",
        what: "existing allocations of a Pod are not reused, and an allocation whose Pod exists is never surplus",
        hooks: {
            agent: ({ pools: { own } }) => {
                own.ofPod = () => [];
            },
        },
    },
    "full-for-ever": {
        source: "https://github.com/cilium/cilium/issues/47910",
        what: "a pool that was full once stays full for this agent",
        hooks: {
            agent: ({ pools: { allocator } }) => {
                const claim = allocator.claim.bind(allocator);
                const full = new Set<string>();
                allocator.claim = async (request, signal) => {
                    const key = "pools" in request ? request.pools.join() : request.network;
                    if (full.has(key)) throw new SimulationError("EXHAUSTED", "environment", "exhausted");
                    try {
                        return await claim(request, signal);
                    } catch (error) {
                        if (isErrorOf(IpPoolError, error, "EXHAUSTED")) full.add(key);
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
