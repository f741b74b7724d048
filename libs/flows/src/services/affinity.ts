import { type Action, type FieldName, type Flow, type LearnSpec, type Match } from "@antrea/openflow";
import { type Family } from "@antrea/ip";
import { type ServedPort } from "@antrea/services";
import { Category } from "../cookies.ts";
import { fieldsOf } from "../fields.ts";
import { load, partsAre, Reg } from "../registers.ts";
import { Priority, Table } from "../tables.ts";
import { protocolFields } from "./protocols.ts";

/**
 * Most clients whose endpoint is remembered, of each port of a Service and family: OVS counts the flows of one cookie. The
 * endpoint of further ones depends on their address alone.
 */
const maxClients = 65_536;
const hashBits = 40n;

/** Affinity of one port of a Service and one scope. */
export interface Affinity {
    readonly port: Pick<ServedPort, "family" | "protocol">;
    /** Whether learned flows match `Reg.port`, which later fragments have too, in place of the protocol and its port. */
    readonly usesPort: boolean;
    /** Match of the family, unless `usesPort` the protocol, `Reg.service` and `Reg.localScope`. */
    readonly scope: Match;
    readonly seconds: number;
    readonly cookie: bigint;
}

/**
 * Returns the cookie of the flows that a port of a Service has learned: round 0, category `service`, and a hash of 40
 * bits. As it has no round, no clean-up of an earlier start takes them.
 *
 * @param name of the port, "" without one
 */
export function learnedCookie(uid: string, name: string, family: Family): bigint {
    const hash = fnv1a(`${uid}/${name}/${family}`);
    const folded = (hash >> hashBits) ^ (hash & ((1n << hashBits) - 1n));
    return (BigInt(Category.service) << hashBits) | folded;
}

/**
 * Actions of a Service with affinity: the learned flow of the client, if there is one, names the endpoint, and the flows of
 * the Service in EndpointDnat translate. Other clients' packets do not pass these tables, so that no client's address
 * gets into their cached flows.
 */
export const affinityActions: readonly Action[] = [
    { type: "resubmit", table: Table.SessionAffinity },
    { type: "resubmit", table: Table.EndpointDnat },
];

/** Actions of a choice: EndpointDnat translates to the endpoint with this id. */
export function chooseEndpoint(id: number): readonly Action[] {
    return [load(Reg.endpoint, id), { type: "resubmit", table: Table.EndpointDnat }];
}

/**
 * Flow that translates to one endpoint, and learns that the client has it. It is the Service's own: when the endpoint
 * goes, so does the flow, and what was learned leads to `chooseFlow`.
 */
export function endpointFlow(affinity: Affinity, id: number, translate: Action): Flow {
    const { scope } = affinity;
    return {
        table: Table.EndpointDnat,
        priority: Priority.high,
        match: { ...scope, ...partsAre([Reg.endpoint, id]) },
        actions: [learn(affinity), translate],
    };
}

/** Flow with the choice of an endpoint for clients that have none, or one that is gone. */
export function chooseFlow({ scope }: Affinity, actions: readonly Action[]): Flow {
    return { table: Table.EndpointDnat, priority: Priority.normal, match: scope, actions };
}

/** Each new connection runs it, so the timeout counts from the last one: packets of a connection do not get here. */
function learn({ port: { family, protocol }, usesPort, seconds, cookie }: Affinity): Action {
    const { eth_type } = fieldsOf(family).any;
    const { ip_proto, portField } = protocolFields(protocol);
    const [src, dst, bits] =
        family === 4 ? (["ipv4_src", "ipv4_dst", 32] as const) : (["ipv6_src", "ipv6_dst", 128] as const);
    return {
        type: "learn",
        table: Table.SessionAffinity,
        priority: Priority.normal,
        cookie,
        idleTimeout: seconds,
        limit: maxClients,
        specs: [
            constant("eth_type", 16, Number(eth_type)),
            ...(usesPort ? [] : [constant("ip_proto", 8, ip_proto)]),
            ofPacket(src, bits),
            ofPacket(dst, bits),
            usesPort ? ofPacket(Reg.port.field, 16) : ofPacket(portField, 16),
            { kind: "load", to: Reg.endpoint, source: Reg.endpoint },
        ],
    };
}

function constant(field: FieldName, bits: number, value: number): LearnSpec {
    return { kind: "match", field: { field, offset: 0, bits }, source: { value } };
}

function ofPacket(field: FieldName, bits: number): LearnSpec {
    const part = { field, offset: 0, bits };
    return { kind: "match", field: part, source: part };
}

/** FNV-1a with 64 bits. */
function fnv1a(text: string): bigint {
    let hash = 0xcbf2_9ce4_8422_2325n;
    for (const byte of new TextEncoder().encode(text)) {
        hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100_0000_01b3n);
    }
    return hash;
}
