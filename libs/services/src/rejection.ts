import { type Family } from "@antrea/ip";
import { type Choice, type Scope } from "./choice.ts";
import { isUsable, type Candidate, type OwnNode } from "./endpoints.ts";
import { type EndpointObject, type HintObject } from "./objects.ts";
import { readEndpoint } from "./slices.ts";

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

/** The candidates of a port of a Service, and which of them are chosen in each scope. */
export interface Chosen {
    readonly byObject: ReadonlyMap<EndpointObject, readonly Candidate[]>;
    readonly hints: Choice["hints"];
    readonly inScope: Readonly<Record<Scope, ReadonlySet<Candidate>>>;
    readonly node: OwnNode;
}

/** The same rejection in both scopes. */
export function both(rejection: Rejection): ExplainedEndpoint["rejections"] {
    return { cluster: rejection, local: rejection };
}

/** Why an endpoint is not even a candidate. */
export function entryRejection(object: EndpointObject, family: Family): Rejection | undefined {
    const read = readEndpoint(object, family);
    if ("rule" in read) return { reason: "InvalidAddress", text: `cannot be used: the address ${read.rule}` };
    if (isUsable(object)) return undefined;
    const isEnding = object.conditions?.terminating === true;
    return { reason: "NotReady", text: isEnding ? "is terminating and does not serve" : "is not ready" };
}

/** Why an endpoint is not chosen; undefined as the candidate: another entry of the same endpoint is it. */
export function rejectionsOf(candidate: Candidate | undefined, chosen: Chosen): ExplainedEndpoint["rejections"] {
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
