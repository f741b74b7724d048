import { quote, type IpAddress } from "@antrea/ip";
import { readHostIp } from "./addresses.ts";
import { clusterIpTexts } from "./cluster-ips.ts";
import { type IngressObject, type ServiceObject } from "./objects.ts";
import { ProblemList, type ProblemReason } from "./problem.ts";
import { type ServiceSettings } from "./settings.ts";

/** Where an address of a Service comes from. */
export type AddressKind = "cluster" | "external" | "loadBalancer";

/** An address of a Service, with the path of its field. */
export interface PlannedAddress {
    readonly kind: AddressKind;
    readonly ip: IpAddress;
    readonly field: string;
}

/** The ClusterIPs of a Service; one that cannot be read is a problem `InvalidClusterIp` instead. */
export function clusterAddresses(service: ServiceObject, problems = new ProblemList()): readonly PlannedAddress[] {
    return clusterIpTexts(service).flatMap((text, at) => {
        const field = service.spec?.clusterIPs === undefined ? "spec.clusterIP" : `spec.clusterIPs[${at}]`;
        const next = "create the Service anew so that the API server allocates an address";
        return readAddress(text, { kind: "cluster", field, reason: "InvalidClusterIp", next }, problems);
    });
}

/** The addresses of load balancers and the externalIPs that are served and can be read, whatever else has them. */
export function externalAddresses(
    service: ServiceObject,
    settings: ServiceSettings,
    problems = new ProblemList(),
): readonly PlannedAddress[] {
    const ofBalancers = ingressOf(service).flatMap((entry, at) => {
        if (whyLeft(entry, settings) !== undefined) return [];
        const field = `status.loadBalancer.ingress[${at}].ip`;
        const next = "correct the address in the controller of the load balancer";
        const place = { kind: "loadBalancer", field, reason: "InvalidLoadBalancerIp", next } as const;
        return readAddress(entry.ip ?? "", place, problems);
    });
    const externalIps = (settings.proxyAll ? (service.spec?.externalIPs ?? []) : []).flatMap((text, at) => {
        const field = `spec.externalIPs[${at}]`;
        const next = "correct or remove the address";
        return readAddress(text, { kind: "external", field, reason: "InvalidExternalIp", next }, problems);
    });
    return [...ofBalancers, ...externalIps];
}

/** The addresses of its load balancer; none of a Service of another type. */
export function ingressOf({ spec, status }: ServiceObject): readonly IngressObject[] {
    return spec?.type === "LoadBalancer" ? (status?.loadBalancer?.ingress ?? []) : [];
}

/** Why an address of a load balancer is not to be served; undefined: it is. */
export function whyLeft(
    { ip = "", ipMode }: IngressObject,
    { proxyLoadBalancerIps }: Pick<ServiceSettings, "proxyLoadBalancerIps">,
): string | undefined {
    if (ip === "") return "is no address";
    if (ipMode === "Proxy") return "is left to the load balancer, as its ipMode is Proxy";
    if (!proxyLoadBalancerIps) return "is left to the load balancer, as antreaProxy.proxyLoadBalancerIPs is false";
    return undefined;
}

function readAddress(
    text: string,
    place: {
        readonly kind: AddressKind;
        readonly field: string;
        readonly reason: ProblemReason;
        readonly next: string;
    },
    problems: ProblemList,
): readonly PlannedAddress[] {
    const { kind, field, reason, next } = place;
    const read = readHostIp(text);
    if ("ip" in read) return [{ kind, ip: read.ip, field }];
    problems.add({ reason, field, value: quote(text), rule: `${read.rule}; it is not served`, next });
    return [];
}
