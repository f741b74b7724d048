import { quote, type Family, type IpAddress } from "@antrea/ip";
import { readHostIp, type ReadIp } from "./addresses.ts";
import { keyOf, type EndpointObject, type SliceObject, type SlicePortObject } from "./objects.ts";
import { type ProblemList } from "./problem.ts";
import { isPort, protocolOf, type Protocol } from "./triple.ts";

/** An EndpointSlice of one family, read. */
export interface ReadSlice {
    readonly object: SliceObject;
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
    return sortedSlices(slices).flatMap((object) => {
        const family = familyOf(object);
        if (family === undefined || !families.includes(family)) return [];
        const [ports, endpoints] = [readPorts(object, problems), readEndpoints(object, family, problems)];
        return [{ object, family, ports, endpoints }];
    });
}

/** The EndpointSlices in the order in which they count. */
export function sortedSlices(slices: Iterable<SliceObject>): readonly SliceObject[] {
    return [...slices].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

/** The family of a slice's addresses; undefined for one of names. */
export function familyOf({ addressType }: SliceObject): Family | undefined {
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
        const read = readEndpoint(object, family);
        if ("ip" in read) return [{ ip: read.ip, object }];
        problems.add({
            reason: "InvalidEndpoint",
            field: `EndpointSlice ${slice.metadata?.name ?? ""}: endpoints[${at}].addresses[0]`,
            value: quote(object.addresses[0] ?? ""),
            rule: `${read.rule}; no connection goes to it`,
            next: "correct the EndpointSlice, or what writes it",
        });
        return [];
    });
}

/** Reads the address of an endpoint in a slice of this family, or returns the rule that it breaks. */
export function readEndpoint({ addresses: [text = ""] }: EndpointObject, family: Family): ReadIp {
    const read = readHostIp(text);
    if (!("ip" in read) || read.ip.family === family) return read;
    return { rule: `must be an IPv${family} address, as addressType requires` };
}
