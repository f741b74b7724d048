import { formatIp, type Family } from "@antrea/ip";
import { hasNodePorts, type ServiceObject } from "./objects.ts";
import { clusterAddresses, externalAddresses, ingressOf, whyLeft } from "./planned-addresses.ts";
import { type ServiceSettings } from "./settings.ts";
import { isPort } from "./triple.ts";

/** An address or NodePort of a Service that is left to others on purpose. */
export interface UnservedPlace {
    /** The path of the field. */
    readonly field: string;
    /** What it has. */
    readonly value: string;
    /** Continues the value: `is left to kube-proxy: …`. */
    readonly reason: string;
}

const withoutProxyAll = "is left to kube-proxy, as antreaProxy.proxyAll is false";

/** Returns what the settings, the load balancer, or a missing family leave to others; problems are not among them. */
export function unservedPlaces(service: ServiceObject, settings: ServiceSettings): readonly UnservedPlace[] {
    const { externalIPs = [], ports = [] } = service.spec ?? {};
    const ofFamilies = clusterAddresses(service)
        .filter(({ ip }) => !settings.families.includes(ip.family))
        .map(({ ip, field }) => ({ field, value: formatIp(ip), reason: withoutPodsOf(ip.family) }));
    const ofService = new Set(clusterAddresses(service).map(({ ip }) => ip.family));
    const ofExternal = externalAddresses(service, settings).flatMap(({ ip, field }) => {
        const place = { field, value: formatIp(ip) };
        if (!settings.families.includes(ip.family)) return [{ ...place, reason: withoutPodsOf(ip.family) }];
        if (ofService.has(ip.family)) return [];
        return [{ ...place, reason: `is not served, as the Service has no IPv${ip.family} ClusterIP` }];
    });
    const ofBalancers = ingressOf(service).flatMap((entry, at) => {
        const reason = whyLeft(entry, settings);
        if (reason === undefined || entry.ip === undefined || entry.ip === "") return [];
        return [{ field: `status.loadBalancer.ingress[${at}].ip`, value: entry.ip, reason }];
    });
    if (settings.proxyAll) return [...ofFamilies, ...ofExternal, ...ofBalancers];
    const ofHost = externalIPs.map((value, at) => ({
        field: `spec.externalIPs[${at}]`,
        value,
        reason: withoutProxyAll,
    }));
    const nodePorts = ports.flatMap(({ nodePort }, at) =>
        hasNodePorts(service) && isPort(nodePort)
            ? [{ field: `spec.ports[${at}].nodePort`, value: String(nodePort), reason: withoutProxyAll }]
            : [],
    );
    return [...ofFamilies, ...ofExternal, ...ofBalancers, ...ofHost, ...nodePorts];
}

function withoutPodsOf(family: Family): string {
    return `is not served, as Pods of the Node have no IPv${family} address`;
}
