import {
    allocationName,
    blockText,
    forceDeleteAnnotation,
    podIpsAnnotation,
    poolsAnnotation,
    type IpAllocation,
} from "@antrea/crd";
import { formatIp, parseIp } from "@antrea/ip";
import { type NetworkAttachmentDefinition } from "@antrea/kube";
import { networksAnnotation } from "@antrea/networks";

export type RangeFields = Readonly<Record<string, unknown>>;

export const paths = {
    pools: "/apis/crd.antrea.io/v1alpha2/ippools",
    namespaces: "/api/v1/namespaces",
    pods: (namespace: string): string => `/api/v1/namespaces/${namespace}/pods`,
    deployments: (namespace: string): string => `/apis/apps/v1/namespaces/${namespace}/deployments`,
    statefulSets: (namespace: string): string => `/apis/apps/v1/namespaces/${namespace}/statefulsets`,
    networks: (namespace: string): string =>
        `/apis/k8s.cni.cncf.io/v1/namespaces/${namespace}/network-attachment-definitions`,
};

/** An IPPool; its version is that of its first range's gateway. */
export function poolOf(name: string, ...ipRanges: readonly RangeFields[]): object {
    return {
        apiVersion: "crd.antrea.io/v1alpha2",
        kind: "IPPool",
        metadata: { name },
        spec: { ipVersion: String(ipRanges[0]?.gateway).includes(":") ? 6 : 4, ipRanges },
    };
}

/** Annotations about addresses; undefined parts are left out. */
export function annotated(pools: string | undefined, ips?: string): Readonly<Record<string, string>> {
    return {
        ...(pools !== undefined && { [poolsAnnotation]: pools }),
        ...(ips !== undefined && { [podIpsAnnotation]: ips }),
    };
}

const podSpec = { containers: [{ name: "c", image: "registry.example/pause:1" }] };

export function podOf(name: string, annotations: Readonly<Record<string, string>>, spec: object = {}): object {
    return { apiVersion: "v1", kind: "Pod", metadata: { name, annotations }, spec: { ...podSpec, ...spec } };
}

export function namespaceOf(name: string, annotations: Readonly<Record<string, string>> = {}): object {
    return { apiVersion: "v1", kind: "Namespace", metadata: { name, annotations } };
}

export function workloadOf(
    kind: "Deployment" | "StatefulSet",
    name: string,
    annotations: Readonly<Record<string, string>>,
    spec: object = {},
): object {
    const labels = { app: name };
    return {
        apiVersion: "apps/v1",
        kind,
        metadata: { name },
        spec: {
            replicas: 1,
            selector: { matchLabels: labels },
            template: { metadata: { labels, annotations }, spec: podSpec },
            ...(kind === "StatefulSet" && { serviceName: name }),
            ...spec,
        },
    };
}

/** A network in Namespace default; its configuration is a text, or becomes one. */
export function networkOf(
    name: string,
    config: unknown,
    annotations: Readonly<Record<string, string>> = {},
): NetworkAttachmentDefinition & { readonly apiVersion: string; readonly kind: string } {
    return {
        apiVersion: "k8s.cni.cncf.io/v1",
        kind: "NetworkAttachmentDefinition",
        metadata: { name, namespace: "default", annotations },
        spec: config === undefined ? {} : { config: typeof config === "string" ? config : JSON.stringify(config) },
    };
}

/** The annotation of a Pod that requests networks. */
export function requesting(networks: string): Readonly<Record<string, string>> {
    return { [networksAnnotation]: networks };
}

interface PodName {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
}

/** An allocation: of a Pod (by name alone: of Namespace default), or, without one, reserved for a StatefulSet. */
export function allocationOf(pool: string, address: string, pod?: string | PodName): IpAllocation {
    const ip = parseIp(address);
    const common = { address: formatIp(ip), block: blockText(ip), pool };
    // So that the test may delete it.
    const metadata = { name: allocationName(ip), annotations: { [forceDeleteAnnotation]: "true" } };
    if (pod === undefined) {
        const owner = { kind: "StatefulSet", namespace: "default", name: "web", uid: "1", index: 0 } as const;
        return { metadata, spec: { ...common, state: "Reserved", owner } };
    }
    const who = typeof pod === "string" ? { namespace: "default", name: pod, uid: pod } : pod;
    return {
        metadata,
        spec: {
            ...common,
            state: "Allocated",
            owner: { kind: "Pod", ...who },
            pod: { ...who, nodeName: "node-1", containerID: "c", interface: "eth0" },
        },
    };
}
