import { endpointSlices, services, type ApiClient } from "@antrea/kube";
import { ownPorts, type LoadPorts } from "../data-plane/load-pod.ts";
import { clusterIp, endpointsInSlice, mostServices, serviceNamespace, sliceOf } from "./service-objects.ts";

/** A Service of type NodePort whose endpoints take every load. */
export interface TrafficService {
    readonly clusterIp: string;
    readonly nodePorts: LoadPorts;
}

const firstNodePort = 30_100;
const loadPort = { name: "load", port: ownPorts.load, protocol: "TCP" } as const;
const iperfPort = { name: "iperf", port: ownPorts.iperf, protocol: "TCP" } as const;

/** Creates one; each has its own number below 100. `proxyName` is the proxy that serves it instead of all others. */
export async function createTrafficService(
    api: ApiClient,
    number: number,
    endpoints: readonly string[],
    proxyName?: string,
): Promise<TrafficService> {
    const name = `traffic-${number}`;
    const labels = proxyName === undefined ? {} : { "service.kubernetes.io/service-proxy-name": proxyName };
    const ip = clusterIp(mostServices + number);
    const nodePorts = { load: firstNodePort + 2 * number, iperf: firstNodePort + 2 * number + 1 };
    await api.create(services, {
        metadata: { namespace: serviceNamespace, name, labels },
        spec: {
            type: "NodePort",
            clusterIP: ip,
            ports: [
                { ...loadPort, nodePort: nodePorts.load },
                { ...iperfPort, nodePort: nodePorts.iperf },
            ],
        },
    });
    for (let at = 0; at < endpoints.length; at += endpointsInSlice) {
        const some = endpoints.slice(at, at + endpointsInSlice);
        await api.create(endpointSlices, sliceOf(name, `${name}-${at}`, [loadPort, iperfPort], some));
    }
    return { clusterIp: ip, nodePorts };
}
