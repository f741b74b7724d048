import { CtMark, nodePortAddress } from "@antrea/flows";
import { formatIp, type Family, type IpAddress } from "@antrea/ip";
import type { CtFlush } from "@antrea/openflow";
import type { Endpoint, ServedPort, ServedService } from "@antrea/services";
import type { Connection } from "./conntrack-dump.ts";

const udp = 17;
const serviceBit = 1 << CtMark.service.offset;

/** Further addresses at which OVS serves Services to the Node itself and to clients outside. */
export interface HostAddresses {
    /** Those of a family at which Pods reach NodePorts of this Node. */
    nodePortAddresses(family: Family): readonly IpAddress[];
    /** To which the host translates an external address; undefined if it is not the Node's own. */
    standIn(ip: IpAddress): IpAddress | undefined;
}

/** A filter of connections of a family in all zones of Pods. */
export interface FlushOfAllZones extends Omit<CtFlush, "zone"> {
    readonly family: Family;
}

/** The conntrack zones of the connections of Pods of a family. */
export type ConnectionZones = (family: Family) => readonly number[];

/** Where an UDP port of a Service is served, with its endpoints that serve. */
interface UdpAddress {
    readonly ip: IpAddress;
    readonly port: number;
    /** By `addressText`. */
    readonly endpoints: ReadonlyMap<string, Pick<Endpoint, "ip" | "port">>;
}

/**
 * Which connections to remove when OVS has the change of a Service, by their text: of an address that is served no longer,
 * or since now, all to it; of another one those to endpoints that stopped serving. As for TCP, what only new connections
 * must heed ends none: policies, hints, that an endpoint terminates.
 */
export function flushesOf(
    before: ServedService | undefined,
    after: ServedService | undefined,
    host: HostAddresses | undefined,
): ReadonlyMap<string, FlushOfAllZones> {
    const [had, has] = [addressesOf(before, host), addressesOf(after, host)];
    const flushes = new Map<string, FlushOfAllZones>();
    for (const [text, address] of had) {
        const now = has.get(text);
        if (now === undefined) flushes.set(text, allTo(address));
        for (const [one, endpoint] of now === undefined ? [] : address.endpoints) {
            if (now?.endpoints.has(one) === true) continue;
            flushes.set(`${text} ${one}`, { ...allTo(address), reply: { src: endpoint.ip, srcPort: endpoint.port } });
        }
    }
    for (const [text, address] of has) {
        if (had.has(text)) continue;
        // what nobody in this switch translates goes on by the host until it is removed
        flushes.set(text, { ...allTo(address), reply: { src: address.ip, srcPort: address.port } });
    }
    return flushes;
}

function allTo({ ip, port }: Place): FlushOfAllZones {
    return { family: ip.family, protocol: udp, original: { dst: ip, dstPort: port } };
}

/** The texts of flushes that are wrong now: an endpoint that came back keeps its connections. */
export function* flushesAgainst(after: ServedService | undefined, host: HostAddresses | undefined): Generator<string> {
    for (const [text, { endpoints }] of addressesOf(after, host))
        for (const one of endpoints.keys()) yield `${text} ${one}`;
}

/** Finds connections that lead to endpoints that do not serve, among all that the datapath has. */
export class StaleConnections {
    readonly #addresses = new Map<string, Set<string>>();
    readonly #zones: Readonly<Record<Family, ReadonlySet<number>>>;

    /** @param possible what OVS has of Services, and what it may have already */
    constructor(possible: Iterable<ServedService>, host: HostAddresses | undefined, zones: ConnectionZones) {
        this.#zones = { 4: new Set(zones(4)), 6: new Set(zones(6)) };
        for (const service of possible) {
            for (const [text, { endpoints }] of addressesOf(service, host)) {
                const known = this.#addresses.get(text) ?? new Set();
                this.#addresses.set(text, known);
                for (const one of endpoints.keys()) known.add(one);
            }
        }
    }

    /** What removes the connection if it is stale, and nothing else; undefined if it is not. */
    flushOf({ original, reply, zone, mark }: Connection): CtFlush | undefined {
        const { dst, dstPort, src, srcPort } = original;
        if (!this.#zones[dst.family].has(zone)) return undefined;
        const endpoints = this.#addresses.get(addressText(dst, dstPort));
        const isStale =
            endpoints === undefined ? (mark & serviceBit) !== 0 : !endpoints.has(addressText(reply.src, reply.srcPort));
        return isStale ? { zone, protocol: udp, original: { src, srcPort, dst, dstPort } } : undefined;
    }
}

type Place = Pick<UdpAddress, "ip" | "port">;

function addressesOf(
    service: ServedService | undefined,
    host: HostAddresses | undefined,
): ReadonlyMap<string, UdpAddress> {
    const found = new Map<string, UdpAddress>();
    for (const served of service?.ports ?? []) {
        if (served.protocol !== "UDP") continue;
        const endpoints = new Map(served.serving.map((one) => [addressText(one.ip, one.port), one]));
        for (const { ip, port } of placesOf(served, host)) found.set(addressText(ip, port), { ip, port, endpoints });
    }
    return found;
}

function placesOf(
    { addresses, family, nodePort, port }: ServedPort,
    host: HostAddresses | undefined,
): readonly Place[] {
    const external = addresses.flatMap(({ ip, kind }) => {
        const standIn = kind === "cluster" ? undefined : host?.standIn(ip);
        return [ip, ...(standIn === undefined ? [] : [standIn])].map((one) => ({ ip: one, port }));
    });
    if (nodePort === undefined || host === undefined) return external;
    const ofNode = [nodePortAddress(family), ...host.nodePortAddresses(family)];
    return [...external, ...ofNode.map((ip) => ({ ip, port: nodePort.port }))];
}

function addressText(ip: IpAddress, port: number): string {
    return `${formatIp(ip)} ${port}`;
}
