import { sleep } from "@antrea/async";
import { createKubeClients, isKubeError, type ApiClient, type KubeObject, type Resource } from "@antrea/kube";
import { BenchError } from "../error.ts";
import { nodeNameOf, podOf, type Place, type SimulatedAgent, type SimulatedPod } from "./simulated-agent.ts";

const tries = 8;
const firstPauseMs = 10;
const pauseFactor = 1.5;
const jitter = 0.1;

interface Entry {
    readonly ipAddress: string;
    readonly phase: "Allocated";
    readonly owner: { readonly pod: Readonly<Record<"name" | "namespace" | "containerID" | "ifName", string>> };
}

/** A pool whose status lists the owner of each address. */
export interface ListPool extends KubeObject {
    readonly spec: { readonly size: number };
    readonly status?: { readonly ipAddresses?: readonly Entry[] };
}

/** The resource of the list design. */
export const listPools: Resource<ListPool> = {
    group: "bench.antrea.io",
    version: "v1",
    plural: "listpools",
    kind: "ListPool",
    namespaced: false,
};

/** The CustomResourceDefinition of `listPools`. */
export const listPoolDefinition: KubeObject = definitionOf(listPools);

/** The RBAC objects that let agents read and write `listPools`. */
export const listPoolRights: readonly KubeObject[] = rightsOf(listPools, "antrea-agent");

/**
 * The design with one object per pool: read it, append an entry to the list in its status, and update it; on a
 * conflict, wait and retry, 8 tries with pauses from 10 ms that grow by half. It has no watch, reads live, and its
 * requests are not rate-limited, all of which favour it.
 */
export async function openListAgent(place: Place): Promise<SimulatedAgent> {
    const clients = createKubeClients({ kubeconfig: place.kubeconfig, userAgent: "bench-list/0" });
    let conflicts = 0;
    return {
        claim: async (pod) => {
            const simulated = podOf(place, pod);
            for (let attempt = 0; attempt < tries; attempt++) {
                if (attempt > 0)
                    await sleep(firstPauseMs * pauseFactor ** (attempt - 1) * (1 + jitter * Math.random()));
                if (await addEntry(clients.api, place.pool, simulated)) return;
                conflicts += 1;
            }
            const node = nodeNameOf(place.agent);
            throw new BenchError("CALL_FAILED", "environment", `${node}: ${tries} conflicts in a row`);
        },
        conflicts: async () => conflicts,
        [Symbol.asyncDispose]: async () => clients.close(),
    };
}

async function addEntry(api: ApiClient, name: string, pod: SimulatedPod): Promise<boolean> {
    const pool = await api.get(listPools, { name });
    const entries = pool.status?.ipAddresses ?? [];
    if (entries.length >= pool.spec.size) throw new BenchError("CALL_FAILED", "internal", `${name} is full`);
    const { namespace, containerId } = pod;
    const entry: Entry = {
        // No address is released, so the first free address is the one after the last.
        ipAddress: `10.16.${entries.length >> 8}.${entries.length & 255}`,
        phase: "Allocated",
        owner: { pod: { name: pod.name, namespace, containerID: containerId, ifName: "eth0" } },
    };
    try {
        await api.update(
            listPools,
            { ...pool, status: { ipAddresses: [...entries, entry] } },
            { subresource: "status" },
        );
        return true;
    } catch (error) {
        if (isKubeError(error, "CONFLICT")) return false;
        throw error;
    }
}

function rightsOf({ group, plural }: Resource<KubeObject>, account: string): readonly KubeObject[] {
    const apiVersion = "rbac.authorization.k8s.io/v1";
    const metadata = { name: `bench-${plural}` };
    const rules = [{ apiGroups: [group], resources: [plural, `${plural}/status`], verbs: ["get", "update"] }];
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: metadata.name };
    const subjects = [{ kind: "ServiceAccount", namespace: "kube-system", name: account }];
    const objects = [
        { apiVersion, kind: "ClusterRole", metadata, rules },
        { apiVersion, kind: "ClusterRoleBinding", metadata, roleRef, subjects },
    ];
    return objects;
}

function definitionOf({ group, version, plural, kind }: Resource<KubeObject>): KubeObject {
    const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
    const schema = { type: "object", properties: { spec: open, status: open } };
    const definition = {
        apiVersion: "apiextensions.k8s.io/v1",
        kind: "CustomResourceDefinition",
        metadata: { name: `${plural}.${group}` },
        spec: {
            group,
            scope: "Cluster",
            names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
            versions: [
                {
                    name: version,
                    served: true,
                    storage: true,
                    subresources: { status: {} },
                    schema: { openAPIV3Schema: schema },
                },
            ],
        },
    };
    return definition;
}
