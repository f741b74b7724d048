import { endpointSlices, services, type ApiClient, type EndpointSlice, type Service } from "@antrea/kube";
import { formatIp } from "@antrea/ip";
import { inParallel } from "../in-parallel.ts";

/** The Namespace of all Services. */
export const serviceNamespace = "bench";
/** The port of all Services and endpoints. */
export const servicePort = 80;
/** Endpoints of a Service. */
export const endpointsEach = 10;
/** The addresses of all endpoints, which are Pods of another Node. */
export const endpointPrefix = "10.32.0.0/11";
/** The Node of all endpoints, an object without a machine. */
export const endpointNode = "bench-endpoints";

/** Endpoints that the controller of Kubernetes puts into one EndpointSlice. */
export const endpointsInSlice = 100;
/** Services that `createServices` can create at most. */
export const mostServices = 60_000;

type EndpointPort = NonNullable<EndpointSlice["ports"]>[number];

const endpointsBase = 0x0a20_0000; // 10.32.0.0
const replacementsBase = 0x0a30_0000; // 10.48.0.0
const clusterIpsBase = 0x0a60_0200; // 10.96.2.0
const width = 32;

/** Name of the Service with this index, in the order in which lists have them. */
export function serviceName(index: number): string {
    return `service-${String(index).padStart(5, "0")}`;
}

/** ClusterIP of the Service with this index. */
export function clusterIp(index: number): string {
    return formatIp({ family: 4, value: BigInt(clusterIpsBase + index) });
}

/** Address of an endpoint of the Service with this index. No two endpoints of all Services have the same. */
export function endpointIp(index: number, endpoint: number): string {
    return formatIp({ family: 4, value: BigInt(endpointsBase + index * endpointsEach + endpoint) });
}

/** An address for an endpoint that replaces another one; each number is a new one. */
export function replacementIp(number: number): string {
    return formatIp({ family: 4, value: BigInt(replacementsBase + number) });
}

/** The Service with this index. */
export function serviceAt(index: number): Service {
    return {
        metadata: { namespace: serviceNamespace, name: serviceName(index) },
        spec: {
            clusterIP: clusterIp(index),
            selector: { app: serviceName(index) },
            ports: [{ port: servicePort, protocol: "TCP" }],
        },
    };
}

/** The EndpointSlice of the Service with this index, with these addresses. */
export function sliceAt(index: number, addresses: readonly string[] = endpointsOf(index)): EndpointSlice {
    const name = serviceName(index);
    return sliceOf(name, name, [{ name: "", port: servicePort, protocol: "TCP" }], addresses);
}

/** An EndpointSlice as the controller of Kubernetes writes it, of ready endpoints on another Node. */
export function sliceOf(
    service: string,
    name: string,
    ports: readonly EndpointPort[],
    addresses: readonly string[],
): EndpointSlice {
    return {
        metadata: {
            namespace: serviceNamespace,
            name,
            labels: {
                "kubernetes.io/service-name": service,
                "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
            },
        },
        addressType: "IPv4",
        ports,
        endpoints: addresses.map((address) => ({
            addresses: [address],
            conditions: { ready: true, serving: true, terminating: false },
            nodeName: endpointNode,
            targetRef: { kind: "Pod", namespace: serviceNamespace, name: `${service}-${address}` },
        })),
    };
}

/** The addresses of the endpoints of the Service with this index. */
export function endpointsOf(index: number): readonly string[] {
    return Array.from({ length: endpointsEach }, (_, endpoint) => endpointIp(index, endpoint));
}

/** Creates the Services from index `first` to below `count`, with their endpoints. */
export async function createServices(api: ApiClient, count: number, first = 0): Promise<void> {
    await inParallel(count - first, width, async (at) => {
        await api.create(services, serviceAt(first + at));
        await api.create(endpointSlices, sliceAt(first + at));
    });
}
