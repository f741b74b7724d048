import { formatIp, quote, type Family, type IpAddress } from "@antrea/ip";
import { hasNodePorts, keyOf, type ServiceObject, type ServicePortObject } from "./objects.ts";
import { clusterAddresses, externalAddresses, type PlannedAddress } from "./planned-addresses.ts";
import { ProblemList } from "./problem.ts";
import { type ServiceSettings } from "./settings.ts";
import { isPort, protocolOf, tripleOf, type Protocol } from "./triple.ts";

/** A port of a Service; `nodePort` is undefined if it has none, or none is served. */
export interface PlannedPort {
    readonly name: string;
    readonly protocol: Protocol;
    readonly port: number;
    readonly nodePort: number | undefined;
    readonly field: string;
}

/** The addresses of a Service in a family. */
export interface PlannedFamily {
    readonly family: Family;
    readonly addresses: readonly PlannedAddress[];
}

/** What a Service is to be served at, unless other Services have it. */
export interface ServicePlan {
    /** Those in which the Service has a ClusterIP, and Pods of the Node an address; none without ports. */
    readonly families: readonly PlannedFamily[];
    readonly ports: readonly PlannedPort[];
    readonly problems: ProblemList;
}

/** What else in the cluster has an address. */
export interface AddressUse {
    /** Describes the Node in whose podCIDR the address lies. */
    podCidrOf(ip: IpAddress): string | undefined;
    /** The key of a Service other than `key` that has the address as its ClusterIP. */
    clusterIpOf(ip: IpAddress, key: string): string | undefined;
}

/**
 * The most triples of a Service in a family, NodePorts not counted; one with 100 ports has 163 addresses. Each source range of
 * an address of a load balancer counts as one more. Without a limit one object could ask for as many flows as it has
 * addresses, or source ranges, times ports: millions.
 */
const maxTriples = 16_384;

/** Reads what a Service is to be served at. What it must not have, or cannot be read, is left out, with a problem. */
export function planService(service: ServiceObject, settings: ServiceSettings, use: AddressUse): ServicePlan {
    const problems = new ProblemList();
    const cluster = clusterAddresses(service, problems);
    const external = externalAddresses(service, settings, problems);
    const ports = (service.spec?.ports ?? []).flatMap((port, at) => plannedPort(port, at, service, settings, problems));
    const families = settings.families.flatMap((family) => {
        const own = cluster.filter(({ ip }) => ip.family === family);
        if (own.length === 0 || ports.length === 0) return [];
        const all = distinct([...own, ...external.filter(({ ip }) => ip.family === family)]);
        const kept = firstOf(all, ports.length, service);
        noteBeyond(all.slice(kept.length), kept.length, problems);
        return [{ family, addresses: kept.filter((one) => isFree(one, service, use, problems)) }];
    });
    return { families, ports, problems };
}

/**
 * Returns the triples of a plan, each once, as the text of `tripleOf`: `10.96.0.10 TCP 443` for each address and port,
 * `node4 TCP 30080` for each NodePort and family. None without ports.
 */
export function triplesOf({ families, ports }: ServicePlan): ReadonlySet<string> {
    const triples = new Set<string>();
    for (const { family, addresses } of families) {
        for (const { protocol, port, nodePort } of ports) {
            for (const { ip } of addresses) triples.add(tripleOf(ip, protocol, port));
            if (nodePort !== undefined) triples.add(tripleOf(`node${family}`, protocol, nodePort));
        }
    }
    return triples;
}

/** The first of each address: as ClusterIP, then of a load balancer, so that its source ranges hold. */
function distinct(addresses: readonly PlannedAddress[]): readonly PlannedAddress[] {
    const byText = new Map<string, PlannedAddress>();
    for (const one of addresses) {
        const text = formatIp(one.ip);
        if (!byText.has(text)) byText.set(text, one);
    }
    return [...byText.values()];
}

/** The first ones that `maxTriples` allows, at least one. */
function firstOf(
    addresses: readonly PlannedAddress[],
    ports: number,
    { spec }: ServiceObject,
): readonly PlannedAddress[] {
    const ranges = spec?.loadBalancerSourceRanges?.length ?? 0;
    let triples = 0;
    const beyond = addresses.findIndex(({ kind }, at) => {
        triples += ports * (kind === "loadBalancer" ? 1 + ranges : 1);
        return at > 0 && triples > maxTriples;
    });
    return beyond === -1 ? addresses : addresses.slice(0, beyond);
}

function noteBeyond(beyond: readonly PlannedAddress[], kept: number, problems: ProblemList): void {
    for (const { field, ip } of beyond) {
        const rule = `is beyond the ${kept} addresses that a Service with so many ports and source ranges may have; it is not served`;
        const next = "divide the Service into several";
        problems.add({ reason: "TooManyAddresses", field, value: formatIp(ip), rule, next });
    }
}

/** False for an external address that would take traffic from Pods or from another Service. */
function isFree(
    { kind, ip, field }: PlannedAddress,
    service: ServiceObject,
    use: AddressUse,
    problems: ProblemList,
): boolean {
    if (kind === "cluster") return true;
    const next = "use an address that is outside of the cluster's own ranges";
    const holder = use.clusterIpOf(ip, keyOf(service));
    if (holder !== undefined) {
        const rule = `is the ClusterIP of the Service ${holder}; it is not served`;
        problems.add({ reason: "ExternalAddressIsClusterIp", field, value: formatIp(ip), rule, next });
        return false;
    }
    const podCidr = use.podCidrOf(ip);
    if (podCidr === undefined) return true;
    const rule = `is in the ${podCidr}; it is not served`;
    problems.add({ reason: "ExternalAddressInPodCidr", field, value: formatIp(ip), rule, next });
    return false;
}

function plannedPort(
    { name = "", protocol: protocolName, port, nodePort }: ServicePortObject,
    at: number,
    service: ServiceObject,
    { proxyAll, sctp }: ServiceSettings,
    problems: ProblemList,
): readonly PlannedPort[] {
    const field = `spec.ports[${at}]`;
    const protocol = protocolOf(protocolName);
    if (protocol === undefined || !isPort(port)) {
        problems.add({
            reason: "InvalidServicePort",
            field,
            value: protocol === undefined ? quote(protocolName) : String(port),
            rule: "must have a protocol TCP, UDP or SCTP and a port from 1 to 65535; it is not served",
            next: "correct the port",
        });
        return [];
    }
    if (protocol === "SCTP" && !sctp) {
        problems.add({
            reason: "SctpNotSupported",
            field: `${field}.protocol`,
            value: protocol,
            rule: "is not translated by the userspace datapath of OVS; the port is not served",
            next: "use Nodes with the kernel datapath of OVS, or TCP or UDP",
        });
        return [];
    }
    const isNodePort = proxyAll && hasNodePorts(service) && isPort(nodePort);
    return [{ name, protocol, port, nodePort: isNodePort ? nodePort : undefined, field }];
}
