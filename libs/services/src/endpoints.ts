import { compareIp, RangeSet, type IpAddress } from "@antrea/ip";
import { ipsIn } from "./addresses.ts";
import { zoneLabel, type EndpointObject, type HintObject, type NodeObject } from "./objects.ts";
import { type ReadSlice } from "./slices.ts";
import { type Protocol } from "./triple.ts";

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
    /** The entry of the EndpointSlice that counts. */
    readonly object: EndpointObject;
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

/** Reads what the choice of endpoints depends on from a Node; undefined: it is not known yet. */
export function ownNodeOf(name: string, node: NodeObject | undefined): OwnNode {
    return {
        name,
        zone: node?.metadata?.labels?.[zoneLabel],
        addresses: RangeSet.ofAddresses((node?.status?.addresses ?? []).flatMap(({ address }) => ipsIn(address))),
    };
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

/** Whether an endpoint is ready, or serves while it terminates. */
export function isUsable(endpoint: EndpointObject): boolean {
    const { serving = true, terminating = false } = endpoint.conditions ?? {};
    return isReady(endpoint) || (serving && terminating);
}

function candidateOf(object: EndpointObject, ip: IpAddress, port: number, node: OwnNode): Candidate {
    const { nodeName, hints } = object;
    return {
        object,
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
