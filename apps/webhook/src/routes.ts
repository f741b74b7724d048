import { type IpPool } from "@antrea/crd";
import {
    refusalsText,
    type Annotations,
    type PodShape,
    type TemplateKind,
    type Verdict,
    type WorkloadShape,
} from "@antrea/ipam";
import { type NetworkAttachmentDefinition } from "@antrea/kube";
import { type PoolReviewer } from "./ip-pools/index.ts";
import { checkSelections, templateOf, type NetworkReviewer, type NetworkVerdict } from "./networks/index.ts";
import { allowed, type AdmissionRequest, type Decision, type JsonObject, type ReviewRoute } from "./review/index.ts";
import { isScaled, type WorkloadReviewer } from "./workloads/index.ts";

/** The reviewers to which `routesOf` passes the requests. */
export interface RouteComponents {
    readonly ipPools: PoolReviewer;
    /** Undefined: annotations of IPPools have no effect, and all are allowed. */
    readonly workloads: WorkloadReviewer | undefined;
    readonly networks: NetworkReviewer;
    /** Whether the annotation of Pods that requests networks is reviewed. */
    readonly reviewsSelections: boolean;
}

/** The kinds with a Pod template, by their plural names. */
const templates: Readonly<Record<string, TemplateKind>> = {
    deployments: "Deployment",
    statefulsets: "StatefulSet",
    daemonsets: "DaemonSet",
    replicasets: "ReplicaSet",
    jobs: "Job",
    cronjobs: "CronJob",
};

/**
 * The webhook paths, /validate/ippool, /validate/workload and /validate/network, and their reviewers. A request that no
 * rule covers, by kind or operation, is allowed. The reviewers reject with KubeError if they cannot decide.
 */
export function routesOf({ ipPools, workloads, networks, reviewsSelections }: RouteComponents): readonly ReviewRoute[] {
    return [
        {
            path: "/validate/ippool",
            webhook: "ippools",
            kinds: ["IPPool"],
            review: async (request, signal) => decided(request, await poolVerdict(ipPools, request, signal)),
        },
        {
            path: "/validate/workload",
            webhook: "workloads",
            kinds: ["Pod", ...Object.values(templates), "Scale", "Namespace"],
            review: async (request, signal) => {
                const ofPools = workloads && (await workloadVerdict(workloads, request, signal));
                const ofNetworks = reviewsSelections ? selectionVerdict(request) : undefined;
                return decided(request, bothOf(ofPools, ofNetworks));
            },
        },
        {
            path: "/validate/network",
            webhook: "networks",
            kinds: ["NetworkAttachmentDefinition"],
            review: async (request, signal) => decidedNetwork(await networkVerdict(networks, request, signal)),
        },
    ];
}

function decided({ operation }: AdmissionRequest, verdict: Verdict | undefined): Decision {
    if (verdict === undefined) return allowed;
    const { errors, warnings } = verdict;
    if (errors.length === 0) return { warnings };
    const reason = operation === "DELETE" ? "Forbidden" : "Invalid";
    return { refused: { message: refusalsText(errors), reason }, warnings };
}

function bothOf(one: Verdict | undefined, other: Verdict | undefined): Verdict | undefined {
    if (one === undefined || other === undefined) return one ?? other;
    return { errors: [...one.errors, ...other.errors], warnings: [...one.warnings, ...other.warnings] };
}

function decidedNetwork(verdict: NetworkVerdict | undefined): Decision {
    if (verdict === undefined) return allowed;
    const { refusal, warnings } = verdict;
    return refusal === undefined ? { warnings } : { refused: { message: refusal, reason: "Invalid" }, warnings };
}

// The casts below: the API server validates objects against their schema before it calls the webhook.

async function poolVerdict(
    ipPools: PoolReviewer,
    { kind, subResource, operation, object, oldObject }: AdmissionRequest,
    signal: AbortSignal,
): Promise<Verdict | undefined> {
    if (kind !== "IPPool" || subResource !== "") return undefined;
    const [old, pool] = [oldObject, object] as unknown as readonly [IpPool, IpPool];
    switch (operation) {
        case "CREATE":
            return ipPools.create(pool, signal);
        case "UPDATE":
            return ipPools.update(old, pool, signal);
        case "DELETE":
            return ipPools.delete(old, signal);
        case "CONNECT":
            return undefined;
    }
}

async function workloadVerdict(
    workloads: WorkloadReviewer,
    request: AdmissionRequest,
    signal: AbortSignal,
): Promise<Verdict | undefined> {
    const { kind, resource, namespace, name, operation, object, oldObject: old } = request;
    if (object === undefined || (operation !== "CREATE" && operation !== "UPDATE")) return undefined;
    switch (kind) {
        case "Pod":
            return workloads.pod({ namespace, old: old as PodShape | undefined, object: object as PodShape }, signal);
        case "Scale": {
            const target = templates[resource];
            const { replicas = 0 } = (object.spec ?? {}) as { readonly replicas?: number };
            return isScaled(target) ? workloads.scale(target, { namespace, name }, replicas, signal) : undefined;
        }
        case "Namespace":
            return workloads.namespace(name, { old: annotationsOf(old), annotations: annotationsOf(object) }, signal);
        default: {
            const known = Object.values(templates).find((one) => one === kind);
            const request = { namespace, old: old as WorkloadShape | undefined, object: object as WorkloadShape };
            return known && workloads.template(known, request, signal);
        }
    }
}

function selectionVerdict({ kind, namespace, operation, object, oldObject }: AdmissionRequest): Verdict | undefined {
    if (object === undefined || (operation !== "CREATE" && operation !== "UPDATE")) return undefined;
    if (kind === "Pod") {
        const [old, pod] = [oldObject as PodShape | undefined, object as PodShape];
        return checkSelections({ namespace, path: "metadata", old, pod });
    }
    const known = Object.values(templates).find((one) => one === kind);
    if (known === undefined) return undefined;
    const { path, template: pod } = templateOf(known, object as WorkloadShape);
    const old = oldObject && templateOf(known, oldObject as WorkloadShape).template;
    return checkSelections({ namespace, path, old, pod });
}

async function networkVerdict(
    networks: NetworkReviewer,
    { kind, subResource, namespace, operation, object, oldObject }: AdmissionRequest,
    signal: AbortSignal,
): Promise<NetworkVerdict | undefined> {
    if (kind !== "NetworkAttachmentDefinition" || subResource !== "" || object === undefined) return undefined;
    if (operation !== "CREATE" && operation !== "UPDATE") return undefined;
    const old = oldObject as NetworkAttachmentDefinition | undefined;
    return networks.review({ namespace, old, object: object as NetworkAttachmentDefinition }, signal);
}

function annotationsOf(object: JsonObject | undefined): Annotations {
    return (object?.metadata as { readonly annotations?: Annotations } | undefined)?.annotations;
}
