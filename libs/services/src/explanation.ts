import { type Family } from "@antrea/ip";
import { choose, type Choice, type Scope } from "./choice.ts";
import {
    candidatesOf,
    familyOf,
    isUsable,
    readEndpoint,
    readSlices,
    sortedSlices,
    type Candidate,
    type OwnNode,
    type ReadSlice,
} from "./endpoints.ts";
import {
    type EndpointObject,
    type HintObject,
    type NodeObject,
    type ServiceObject,
    type SliceObject,
} from "./objects.ts";
import { clusterAddresses, unservedPlaces, type UnservedPlace } from "./plan.ts";
import { ProblemList } from "./problem.ts";
import { computeService, type ServedPort, type ServedService, type ServiceContext } from "./served.ts";

/** A Node, and what else decides what is served there. */
export interface NodeView {
    readonly node: NodeObject;
    /** The families that its Pods have. */
    readonly families: readonly Family[];
    /** Whether its datapath can translate SCTP. */
    readonly sctp: boolean;
}

/** Why an endpoint gets no connections. */
export type RejectionReason =
    | "AddressType"
    | "InvalidAddress"
    | "NoPort"
    | "NotLocal"
    | "NotReady"
    | "OtherNode"
    | "OtherZone"
    | "Repeated"
    | "Terminating";

/** Why an endpoint, or an EndpointSlice, gets no connections; the text continues its address: `is not ready`. */
export interface Rejection {
    readonly reason: RejectionReason;
    readonly text: string;
}

/** An entry of an EndpointSlice for one port of a Service. */
export interface ExplainedEndpoint {
    /** Name of its EndpointSlice. */
    readonly slice: string;
    /** As the EndpointSlice has it. */
    readonly address: string;
    /** Undefined if its EndpointSlice has no such port. */
    readonly port: number | undefined;
    readonly nodeName: string | undefined;
    /** Why it is not chosen; undefined: it is. */
    readonly rejections: Readonly<Record<Scope, Rejection | undefined>>;
}

/** An EndpointSlice none of whose endpoints can be used. */
export interface UnusedSlice {
    readonly name: string;
    readonly endpoints: number;
    readonly rejection: Rejection;
}

/** What is served of a Service on a Node, and why. */
export interface ServiceExplanation {
    readonly served: ServedService;
    /** Of each of the served ports, in their order; sorted by EndpointSlice. */
    readonly endpoints: readonly (readonly ExplainedEndpoint[])[];
    readonly unusedSlices: readonly UnusedSlice[];
    readonly unserved: readonly UnservedPlace[];
}

/** Computes what is served of a Service that is not ignored, with the reasons. */
export function explainService(
    service: ServiceObject,
    slices: Iterable<SliceObject>,
    context: ServiceContext,
): ServiceExplanation {
    const { settings, node } = context;
    const all = sortedSlices(slices);
    const served = computeService(service, all, context);
    return {
        served,
        endpoints: served.ports.map((port) => explainEndpoints(port, all, node, settings.nodeHints)),
        unusedSlices: unusedSlices(service, all, settings.families),
        unserved: unservedPlaces(service, settings),
    };
}

/** Returns all endpoints that slices of the port's family have, with the reasons why `choose` does not take them. */
function explainEndpoints(
    port: Pick<ServedPort, "family" | "name" | "protocol">,
    slices: Iterable<SliceObject>,
    node: OwnNode,
    nodeHints: boolean,
): readonly ExplainedEndpoint[] {
    const read = readSlices(slices, [port.family], new ProblemList());
    const candidates = candidatesOf(port, read, node);
    const { hints, cluster, local } = choose(candidates, node, nodeHints);
    const chosen: Chosen = {
        byObject: Map.groupBy(candidates, ({ object }) => object),
        hints,
        inScope: { cluster: new Set(cluster), local: new Set(local) },
        node,
    };
    return read.flatMap((slice) => explainSlice(slice, port, chosen));
}

interface Chosen {
    readonly byObject: ReadonlyMap<EndpointObject, readonly Candidate[]>;
    readonly hints: Choice["hints"];
    readonly inScope: Readonly<Record<Scope, ReadonlySet<Candidate>>>;
    readonly node: OwnNode;
}

function explainSlice(
    { object: slice, ports }: ReadSlice,
    { family, name, protocol }: Pick<ServedPort, "family" | "name" | "protocol">,
    chosen: Chosen,
): readonly ExplainedEndpoint[] {
    const numbers = ports.filter((one) => one.name === name && one.protocol === protocol).map(({ port }) => port);
    const called = name === "" ? "without a name" : `of the name ${name}`;
    const noPort: Rejection = {
        reason: "NoPort",
        text: `has no ${protocol} port ${called} in its EndpointSlice that can be used`,
    };
    return (slice.endpoints ?? []).flatMap((object): readonly ExplainedEndpoint[] => {
        const entry = {
            slice: slice.metadata?.name ?? "",
            address: object.addresses[0] ?? "",
            nodeName: object.nodeName,
        };
        const refused = entryRejection(object, family);
        if (numbers.length === 0) return [{ ...entry, port: undefined, rejections: both(refused ?? noPort) }];
        return numbers.map((port) => {
            const candidate = chosen.byObject.get(object)?.find((one) => one.port === port);
            return { ...entry, port, rejections: refused ? both(refused) : rejectionsOf(candidate, chosen) };
        });
    });
}

function both(rejection: Rejection): ExplainedEndpoint["rejections"] {
    return { cluster: rejection, local: rejection };
}

/** Why an endpoint is not even a candidate. */
function entryRejection(object: EndpointObject, family: Family): Rejection | undefined {
    const read = readEndpoint(object, family);
    if ("rule" in read) return { reason: "InvalidAddress", text: `cannot be used: the address ${read.rule}` };
    if (isUsable(object)) return undefined;
    const isEnding = object.conditions?.terminating === true;
    return { reason: "NotReady", text: isEnding ? "is terminating and does not serve" : "is not ready" };
}

function rejectionsOf(candidate: Candidate | undefined, chosen: Chosen): ExplainedEndpoint["rejections"] {
    if (candidate === undefined) {
        return both({ reason: "Repeated", text: "is in the EndpointSlices more than once; another entry counts" });
    }
    const { cluster, local } = chosen.inScope;
    return {
        cluster: cluster.has(candidate) ? undefined : clusterRejection(candidate, chosen),
        local: local.has(candidate) ? undefined : localRejection(candidate),
    };
}

const terminating: Rejection = { reason: "Terminating", text: "is terminating, and others are ready" };

function clusterRejection(
    { ready, forNodes, forZones }: Candidate,
    { hints, node }: Pick<Chosen, "hints" | "node">,
): Rejection {
    if (!ready) return terminating;
    if (hints === "node") return { reason: "OtherNode", text: `has hints for other Nodes: ${namesOf(forNodes)}` };
    const zone = `the zone of the Node is ${node.zone ?? ""}`;
    return { reason: "OtherZone", text: `has hints for other zones: ${namesOf(forZones)}; ${zone}` };
}

function localRejection({ local, nodeName }: Candidate): Rejection {
    if (local) return terminating;
    return { reason: "NotLocal", text: nodeName === undefined ? "is on no Node" : `is on the Node ${nodeName}` };
}

function namesOf(hints: readonly HintObject[]): string {
    return hints.map(({ name }) => name).join(", ");
}

/** The slices of families in which nothing is served, or of names. */
function unusedSlices(
    service: ServiceObject,
    slices: readonly SliceObject[],
    families: readonly Family[],
): readonly UnusedSlice[] {
    const ofService = new Set(clusterAddresses(service).map(({ ip }) => ip.family));
    return slices.flatMap((slice) => {
        const family = familyOf(slice);
        if (family !== undefined && ofService.has(family) && families.includes(family)) return [];
        const text =
            family === undefined
                ? `is of the type ${slice.addressType}; only IPv4 and IPv6 are served`
                : ofService.has(family)
                  ? `is of IPv${family}, of which Pods of the Node have no address`
                  : `is of IPv${family}, of which the Service has no ClusterIP`;
        const { name = "" } = slice.metadata ?? {};
        return [{ name, endpoints: slice.endpoints?.length ?? 0, rejection: { reason: "AddressType", text } }];
    });
}
