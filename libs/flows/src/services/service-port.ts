import { type Action, type Flow, type Group, type Match } from "@antrea/openflow";
import { formatIp, type IpAddress } from "@antrea/ip";
import { type ClientScopes, type Scope, type ServedAddress, type ServedNodePort } from "@antrea/services";
import { Category, type FlowSet } from "../cookies.ts";
import { invalidInput } from "../error.ts";
import { fieldsOf, fromPrefix, toIp } from "../fields.ts";
import { load, partsAre, Reg } from "../registers.ts";
import { type NextTable } from "../part.ts";
import { Table } from "../tables.ts";
import { Rank } from "./load-balancer.ts";
import { outcomesOf, type Outcome, type OutcomeInput } from "./outcome.ts";
import { toPort } from "./protocols.ts";

const maxNumber = 0xffff_ffff;
const inside = [Reg.inside, 1] as const;

/** Input for the groups and flows of one port of a Service in one family; see `servicePortFlows`. */
export interface ServicePortInput extends OutcomeInput {
    /** Whether the pipeline is that of `proxyAll`. Without it all clients are inside, and nobody gets to NodePorts. */
    readonly proxyAll: boolean;
    /** Addresses to which the host translates external addresses that are the Node's own, by the text of those. */
    readonly standIns: ReadonlyMap<string, IpAddress>;
    /** Whether the switch lacks `rejectMeter`: a port without endpoints is left to the host then. Default false. */
    readonly withoutMeter?: boolean | undefined;
}

/** The groups and flows of one port of a Service; the flows need the groups and, unless `withoutMeter`, `rejectMeter`. */
export interface ServicePortFlows {
    readonly groups: readonly Group[];
    readonly flows: FlowSet;
}

/**
 * Returns the groups and flows of one port of a Service. No other port has a flow of the same table, priority and match
 * if each has its own number, and an address with protocol and port belongs to one of them. Throws FlowsError
 * `INVALID_INPUT` for a number outside 1 to 2^32-1.
 */
export function servicePortFlows(next: NextTable, input: ServicePortInput): ServicePortFlows {
    const { port, number, proxyAll } = input;
    if (!Number.isInteger(number) || number < 1 || number > maxNumber) {
        throw invalidInput("number", number, `it must be a whole number from 1 to ${maxNumber}`);
    }
    // a flow that uses a meter that is not there would be refused, and earlier ones would stay with endpoints that are gone
    if (input.withoutMeter === true && port.endpoints.cluster.length === 0)
        return { groups: [], flows: { category: Category.service, flows: [] } };
    const outcomes = outcomesOf(next, input);
    const nodePort = proxyAll ? port.nodePort : undefined;
    const flows = [
        ...port.addresses.flatMap((address) => addressFlows(input, address, outcomes)),
        ...(nodePort === undefined ? [] : nodePortFlows(input, nodePort, outcomes)),
    ];
    const clients = [...port.addresses, ...(nodePort === undefined ? [] : [nodePort])];
    const scopes = new Set(clients.flatMap((one) => (proxyAll ? [one.inside, one.outside] : [one.inside])));
    const used = [...new Set([...scopes].map((scope) => outcomes[scope]))];
    return {
        groups: used.flatMap(({ group }) => group ?? []),
        flows: { category: Category.service, flows: [...flows, ...used.flatMap((outcome) => outcome.flows)] },
    };
}

/** An address of a load balancer may be closed to all but some clients. */
function addressFlows(
    { port, proxyAll, standIns, keepsFragments = false }: ServicePortInput,
    address: ServedAddress,
    outcomes: Readonly<Record<Scope, Outcome>>,
): Flow[] {
    const { protocol, sourceRanges } = port;
    const ranges = address.kind === "loadBalancer" ? sourceRanges : undefined;
    const standIn = address.kind === "cluster" ? undefined : standIns.get(formatIp(address.ip));
    const ips = [address.ip, ...(standIn === undefined ? [] : [standIn])];
    const matches = toPort(protocol, port.port, keepsFragments).flatMap((match) =>
        ips.map((ip) => ({ ...toIp(ip), ...match })),
    );
    return matches.flatMap((match) => {
        const permitted = ranges?.map((range) => ({ ...match, ...fromPrefix(range) })) ?? [match];
        return [
            ...permitted.flatMap((one) =>
                clientFlows(one, port.port, address, outcomes, proxyAll, [Rank.addressInside, Rank.address]),
            ),
            ...(ranges === undefined ? [] : [choose(Rank.closed, match, [])]),
        ];
    });
}

function nodePortFlows(
    { port: { family, protocol }, keepsFragments = false }: ServicePortInput,
    nodePort: ServedNodePort,
    outcomes: Readonly<Record<Scope, Outcome>>,
): Flow[] {
    return toPort(protocol, nodePort.port, keepsFragments).flatMap((packet) => {
        const match = { ...fieldsOf(family).any, ...packet, ...partsAre([Reg.nodePort, 1]) };
        // the match is of the same register as that of clients inside
        const ofInside = { ...match, ...partsAre([Reg.nodePort, 1], inside) };
        return clientFlows(
            match,
            nodePort.port,
            nodePort,
            outcomes,
            true,
            [Rank.nodePortInside, Rank.nodePort],
            ofInside,
        );
    });
}

/** One flow if clients inside and outside have the same endpoints, or there are none outside. */
function clientFlows(
    match: Match,
    port: number,
    scopes: ClientScopes,
    outcomes: Readonly<Record<Scope, Outcome>>,
    proxyAll: boolean,
    [ofInside, ofAll]: readonly [inside: number, all: number],
    insideMatch: Match = { ...match, ...partsAre(inside) },
): Flow[] {
    const forInside = outcomes[scopes.inside];
    const forOutside = outcomes[scopes.outside];
    if (!proxyAll || forInside === forOutside) return [choose(ofAll, match, actionsOf(forInside, port))];
    return [
        choose(ofInside, insideMatch, actionsOf(forInside, port)),
        choose(ofAll, match, actionsOf(forOutside, port)),
    ];
}

function actionsOf({ actions, usesPort = false }: Outcome, port: number): readonly Action[] {
    return usesPort ? [load(Reg.port, port), ...actions] : actions;
}

function choose(priority: number, match: Match, actions: readonly Action[]): Flow {
    return { table: Table.ServiceLb, priority, match, actions };
}
