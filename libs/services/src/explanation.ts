import { type Family } from "@antrea/ip";
import { choose } from "./choice.ts";
import { computeService, type ServiceContext } from "./compute-service.ts";
import { candidatesOf, type OwnNode } from "./endpoints.ts";
import { type NodeObject, type ServiceObject, type SliceObject } from "./objects.ts";
import { clusterAddresses } from "./planned-addresses.ts";
import { ProblemList } from "./problem.ts";
import {
    both,
    entryRejection,
    rejectionsOf,
    type Chosen,
    type ExplainedEndpoint,
    type Rejection,
} from "./rejection.ts";
import { type ServedPort, type ServedService } from "./served.ts";
import { familyOf, readSlices, sortedSlices, type ReadSlice } from "./slices.ts";
import { unservedPlaces, type UnservedPlace } from "./unserved.ts";

/** A Node, and what else decides what is served there. */
export interface NodeView {
    readonly node: NodeObject;
    /** The families that its Pods have. */
    readonly families: readonly Family[];
    /** Whether its datapath can translate SCTP. */
    readonly sctp: boolean;
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
