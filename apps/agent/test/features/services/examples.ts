import { parseIp } from "@antrea/ip";
import {
    ServiceIndex,
    type Endpoint,
    type ServedPort,
    type ServedService,
    type ServiceSettings,
} from "@antrea/services";

/** An index of a Node `here` without Services, for a cluster with both families and kube-proxy. */
export function emptyIndex(change: Partial<ServiceSettings> = {}): ServiceIndex {
    return new ServiceIndex({
        nodeName: "here",
        families: [4, 6],
        proxyAll: false,
        proxyLoadBalancerIps: true,
        serviceProxyName: "",
        skipServices: [],
        defaultLoadBalancerMode: "nat",
        dsr: false,
        nodeHints: true,
        sctp: false,
        ...change,
    });
}

/** Endpoints of this Node at port 8080, or at another one: `10.10.1.2`, `10.10.1.2 53`. */
export function endpointsAt(...texts: readonly string[]): readonly Endpoint[] {
    return texts.map((text) => {
        const [ip = "", port = "8080"] = text.split(" ");
        return { ip: parseIp(ip), port: Number(port), nodeName: "own", local: true, host: false, ready: true };
    });
}

/** A port at a ClusterIP with these endpoints. */
export function portAt(clusterIp: string, endpoints: readonly Endpoint[], more: Partial<ServedPort> = {}): ServedPort {
    const ip = parseIp(clusterIp);
    return {
        name: "",
        family: ip.family,
        protocol: "TCP",
        port: 80,
        addresses: [{ kind: "cluster", ip, inside: "cluster", outside: "cluster" }],
        nodePort: undefined,
        endpoints: { cluster: endpoints, local: endpoints },
        serving: endpoints,
        mode: "nat",
        sourceRanges: undefined,
        ...more,
    };
}

/** A Service `default/web` with these ports. */
export function serviceWith(ports: readonly ServedPort[], more: Partial<ServedService> = {}): ServedService {
    return {
        key: "default/web",
        uid: "uid-web",
        affinitySeconds: undefined,
        ports,
        healthCheck: undefined,
        problems: [],
        ...more,
    };
}
