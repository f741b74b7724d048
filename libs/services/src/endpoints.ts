import { compareIp, quote, type Family, type IpAddress, type RangeSet } from "@antrea/ip";
import { isPort, protocolOf, readHostIp, type Protocol } from "./addresses.ts";
import { keyOf, type EndpointObject, type HintObject, type SliceObject, type SlicePortObject } from "./objects.ts";
import { type ProblemList } from "./problem.ts";

/** Where connections to a port of a Service can go. */
export interface Endpoint {
    readonly ip: IpAddress;
    readonly port: number;
    /** Undefined if its EndpointSlice names none, as for endpoints outside of the cluster. */
    readonly nodeName: string | undefined;
    /** Whether it is on the own Node. */
    readonly local: boolean;
    /** Whether its address is one of the own Node: it is the host itself, or a Pod in the host's network. */
    readonly host: boolean;
    /** False: it is terminating, still serves, and no other is ready. */
    readonly ready: boolean;
}

/** An endpoint that can be chosen, with what the choice depends on. */
export interface Candidate extends Endpoint {
    readonly forNodes: readonly HintObject[];
    readonly forZones: readonly HintObject[];
}

const noHints: readonly HintObject[] = [];

/** What this library knows of the own Node. */
export interface OwnNode {
    readonly name: string;
    readonly zone: string | undefined;
    readonly addresses: RangeSet;
}

/** An EndpointSlice of one family, read. */
export interface ReadSlice {
    readonly family: Family;
    readonly ports: readonly { readonly name: string; readonly protocol: Protocol; readonly port: number }[];
    readonly endpoints: readonly { readonly ip: IpAddress; readonly object: EndpointObject }[];
}

/**
 * Reads the EndpointSlices of a Service; those of other families, or of names, are left out. Endpoints and ports that
 * cannot be served are left out with a problem.
 */
export function readSlices(
    slices: Iterable<SliceObject>,
    families: readonly Family[],
    problems: ProblemList,
): readonly ReadSlice[] {
    const sorted = [...slices].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    return sorted.flatMap((slice) => {
        const family = familyOf(slice);
        if (family === undefined || !families.includes(family)) return [];
        return [{ family, ports: readPorts(slice, problems), endpoints: readEndpoints(slice, family, problems) }];
    });
}

function familyOf({ addressType }: SliceObject): Family | undefined {
    return addressType === "IPv4" ? 4 : addressType === "IPv6" ? 6 : undefined;
}

function readPorts(slice: SliceObject, problems: ProblemList): ReadSlice["ports"] {
    return (slice.ports ?? []).flatMap(({ name = "", protocol: protocolName, port }: SlicePortObject, at) => {
        const protocol = protocolOf(protocolName);
        if (protocol !== undefined && isPort(port)) return [{ name, protocol, port }];
        problems.add({
            reason: "InvalidEndpointPort",
            field: `EndpointSlice ${slice.metadata?.name ?? ""}: ports[${at}]`,
            value: protocol === undefined ? quote(protocolName) : String(port ?? "nothing"),
            rule: "must have a protocol TCP, UDP or SCTP and a port from 1 to 65535; no connection goes to it",
            next: "correct the EndpointSlice, or what writes it",
        });
        return [];
    });
}

function readEndpoints(slice: SliceObject, family: Family, problems: ProblemList): ReadSlice["endpoints"] {
    return (slice.endpoints ?? []).flatMap((object, at) => {
        const [text = ""] = object.addresses;
        const read = readHostIp(text);
        if ("ip" in read && read.ip.family === family) return [{ ip: read.ip, object }];
        problems.add({
            reason: "InvalidEndpoint",
            field: `EndpointSlice ${slice.metadata?.name ?? ""}: endpoints[${at}].addresses[0]`,
            value: quote(text),
            rule: `${"rule" in read ? read.rule : `must be an IPv${family} address, as addressType says`}; no connection goes to it`,
            next: "correct the EndpointSlice, or what writes it",
        });
        return [];
    });
}

/**
 * Returns the endpoints of a port that are ready, or serve while they terminate, sorted by address and port. The port is
 * found by name and protocol in each slice for itself. Of an endpoint in several slices the entry counts that is ready,
 * then the one on the own Node, then that of the first slice by name.
 */
export function candidatesOf(
    { name, protocol }: { readonly name: string; readonly protocol: Protocol },
    slices: readonly ReadSlice[],
    node: OwnNode,
): readonly Candidate[] {
    const found = new Map<string | number, Candidate>();
    for (const { ports, endpoints } of slices) {
        for (const port of ports) {
            if (port.name !== name || port.protocol !== protocol) continue;
            for (const { ip, object } of endpoints) {
                if (!isUsable(object)) continue;
                const key = identityOf(ip, port.port);
                const known = found.get(key);
                const candidate = candidateOf(object, ip, port.port, node);
                if (known === undefined || precedes(candidate, known)) found.set(key, candidate);
            }
        }
    }
    return [...found.values()].sort((a, b) => compareIp(a.ip, b.ip) || a.port - b.port);
}

/** Numbers for IPv4, since texts would take most of the time. */
function identityOf({ family, value }: IpAddress, port: number): string | number {
    return family === 4 ? Number(value) * 0x10000 + port : `${value} ${port}`;
}

function isReady({ conditions }: EndpointObject): boolean {
    return conditions?.ready ?? true;
}

function isUsable(endpoint: EndpointObject): boolean {
    const { serving = true, terminating = false } = endpoint.conditions ?? {};
    return isReady(endpoint) || (serving && terminating);
}

function candidateOf(object: EndpointObject, ip: IpAddress, port: number, node: OwnNode): Candidate {
    const { nodeName, hints } = object;
    return {
        ip,
        port,
        nodeName,
        local: nodeName === node.name,
        host: node.addresses.has(ip),
        ready: isReady(object),
        forNodes: hints?.forNodes ?? noHints,
        forZones: hints?.forZones ?? noHints,
    };
}

function precedes(a: Candidate, b: Candidate): boolean {
    return a.ready === b.ready ? a.local && !b.local : a.ready;
}
