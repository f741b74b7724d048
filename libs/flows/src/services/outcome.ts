import { type Action, type Flow, type Group } from "@antrea/openflow";
import { bucketIds, type Endpoint, type Scope, type ServedPort } from "@antrea/services";
import { fieldsOf } from "../fields.ts";
import { load, partsAre, Reg } from "../registers.ts";
import { type NextTable } from "../part.ts";
import { affinityActions, chooseEndpoint, chooseFlow, endpointFlow, learnedCookie, type Affinity } from "./affinity.ts";
import { affinityGroup, selectGroup, translate } from "./groups.ts";
import { rejectAction } from "./load-balancer.ts";
import { hasFragments, protocolFields } from "./protocols.ts";

/** Input for what becomes of connections to one port of a Service; see `ServicePortInput`. */
export interface OutcomeInput {
    /** UID of the Service. */
    readonly uid: string;
    readonly port: ServedPort;
    /** Connections of a client go to one endpoint until there was no new one for so many seconds, 1 to 65535. */
    readonly affinitySeconds: number | undefined;
    /** Number of the port among all ports of Services, 1 to 2^32-1; packets carry it in `Reg.service`. */
    readonly number: number;
    /** Ids of the groups, one for each scope; those that are not needed stay unused. */
    readonly groupIds: Readonly<Record<Scope, number>>;
    /** What the choice for a client of a Service with affinity depends on beside the client's address; 64 bits. */
    readonly salt: bigint;
    /** Whether the pipeline is that of bridging mode. */
    readonly bridging: boolean;
    /** See `ServicesInput`. Default false. */
    readonly keepsFragments?: boolean | undefined;
}

/** What becomes of connections in a scope: the actions of flows in ServiceLb, and what these use. */
export interface Outcome {
    readonly actions: readonly Action[];
    /** Whether the actions use `Reg.port`. */
    readonly usesPort?: boolean;
    readonly group?: Group;
    /** Flows of the table EndpointDnat. */
    readonly flows: readonly Flow[];
}

/** Returns the outcome of each scope; it is one object for scopes of the same endpoints. */
export function outcomesOf(next: NextTable, input: OutcomeInput): Readonly<Record<Scope, Outcome>> {
    const { cluster, local } = input.port.endpoints;
    const all = outcomeOf(next, input, "cluster");
    const isSame = cluster.length === local.length && local.every((one, at) => isOne(one, cluster[at]));
    return { cluster: all, local: isSame ? all : outcomeOf(next, input, "local") };
}

function outcomeOf(next: NextTable, input: OutcomeInput, scope: Scope): Outcome {
    const { port, affinitySeconds, groupIds, bridging } = input;
    const endpoints = port.endpoints[scope];
    const [first, second] = endpoints;
    const numbered = load(Reg.service, input.number);
    if (first === undefined) {
        // The agent answers. Nothing is committed that would be stale once there is an endpoint.
        return { actions: port.endpoints.cluster.length === 0 ? [numbered, rejectAction] : [], flows: [] };
    }
    const toEndpoint = (endpoint: Endpoint): Action => translate(next, endpoint, bridging);
    // a single endpoint is learned too: its clients are to stay there when another one comes
    if (affinitySeconds !== undefined) return withAffinity(input, affinitySeconds, scope, toEndpoint);
    if (second === undefined) return { actions: [numbered, toEndpoint(first)], flows: [] };
    const id = groupIds[scope];
    return {
        actions: [numbered, { type: "group", group: id }],
        group: selectGroup(id, port, endpoints, toEndpoint),
        flows: [],
    };
}

function withAffinity(
    { uid, port, number, groupIds, salt, keepsFragments = false }: OutcomeInput,
    seconds: number,
    scope: Scope,
    toEndpoint: (endpoint: Endpoint) => Action,
): Outcome {
    const endpoints = port.endpoints[scope];
    const id = groupIds[scope];
    const isLocal = scope === "local" ? 1 : 0;
    const usesPort = hasFragments(port.protocol, keepsFragments);
    const affinity: Affinity = {
        port,
        usesPort,
        scope: {
            ...fieldsOf(port.family).any,
            ...(usesPort ? {} : { ip_proto: protocolFields(port.protocol).ip_proto }),
            ...partsAre([Reg.service, number], [Reg.localScope, isLocal]),
        },
        seconds,
        cookie: learnedCookie(uid, port.name, port.family),
    };
    const ids = bucketIds(endpoints);
    const [only = 0, ...others] = ids;
    const group = others.length > 0 ? affinityGroup(id, port.family, ids, salt) : undefined;
    const choice: readonly Action[] = group === undefined ? chooseEndpoint(only) : [{ type: "group", group: id }];
    return {
        actions: [load(Reg.service, number), load(Reg.localScope, isLocal), ...affinityActions],
        usesPort,
        ...(group === undefined ? {} : { group }),
        flows: [
            ...endpoints.map((endpoint, at) => endpointFlow(affinity, ids[at] ?? 0, toEndpoint(endpoint))),
            chooseFlow(affinity, choice),
        ],
    };
}

function isOne(one: Endpoint, other: Endpoint | undefined): boolean {
    return one.ip.value === other?.ip.value && one.port === other.port;
}
