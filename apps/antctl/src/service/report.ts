import { formatIp } from "@antrea/ip";
import {
    problemText,
    type NodeView,
    type Scope,
    type ServedAddress,
    type ServedPort,
    type ServiceExplanation,
    type ServiceObject,
    type UnservedPlace,
} from "@antrea/services";
import { type AgentRead } from "../ovs-records/index.ts";
import { differences, uncompared } from "./compare.ts";
import { type Facts } from "./facts.ts";
import { type NodeProblem } from "./node-problems.ts";
import { type OvsPlace } from "./ovs-reader.ts";
import { placesOf, placeText, type Outcome, type Place } from "./places.ts";

/**
 * Which clients get which endpoints at an address: `cluster` is all that the Node should use, `local` those on it.
 * `outside` is absent where AntreaProxy serves Pods only.
 */
interface ScopeReport {
    readonly inside: Scope;
    readonly outside?: Scope;
}

/** An entry of an EndpointSlice; of each scope that some client has whether it is chosen, and else why not. */
export interface EndpointReport {
    readonly address: string;
    readonly port?: number;
    readonly node?: string;
    readonly slice: string;
    readonly scopes: readonly {
        readonly scope: Scope;
        readonly chosen: boolean;
        readonly reason?: string;
        /** Continues the address. */
        readonly text?: string;
    }[];
}

/** A port of the Service in one family. */
export interface PortReport {
    readonly name: string;
    readonly protocol: string;
    readonly ipVersion: number;
    readonly port: number;
    readonly addresses: readonly (ScopeReport & { readonly address: string; readonly kind: ServedAddress["kind"] })[];
    readonly nodePort?: ScopeReport & { readonly port: number };
    readonly endpoints: readonly EndpointReport[];
}

/** What OVS of one Node has. `same`: what is to be served there, no more and no less. */
export type OvsReport =
    | {
          readonly node: string;
          readonly state: "same" | "differs";
          readonly differences: readonly string[];
          /** What could not be compared, as sentences. */
          readonly uncompared: readonly string[];
          /** Those of table ServiceLb for the addresses of the Service. */
          readonly flows: readonly {
              readonly place: string;
              readonly priority: number;
              readonly match: string;
              readonly actions: string;
              readonly group?: number;
              readonly outcome: Outcome;
          }[];
      }
    | { readonly node: string; readonly state: "unread"; readonly reason: string };

/** Nodes on which the same is to be served, with the same endpoints. */
export interface NodesReport {
    readonly nodes: readonly string[];
    readonly ports: readonly PortReport[];
    /** Ready endpoints on each of the Nodes; absent if no load balancer asks for them. */
    readonly healthCheck?: { readonly port: number; readonly localEndpoints: number };
    /** What settings and load balancers leave to others. */
    readonly unserved: readonly UnservedPlace[];
    /** What is not served as it is written, with the texts of the events. */
    readonly problems: readonly string[];
    readonly unusedSlices: readonly { readonly slice: string; readonly endpoints: number; readonly text: string }[];
    readonly ovs: readonly OvsReport[];
}

/** The report of `antctl service NAMESPACE/NAME`, as `-o json` prints it. */
export interface ServiceReport {
    readonly service: string;
    readonly type: string;
    readonly internalTrafficPolicy: string;
    readonly externalTrafficPolicy: string;
    readonly affinitySeconds?: number;
    readonly assumptions: readonly string[];
    readonly nodes: readonly NodesReport[];
    readonly nodeProblems: readonly NodeProblem[];
}

/** What is to be served on one Node. */
export interface NodePlan {
    readonly name: string;
    readonly explanation: ServiceExplanation;
    readonly places: readonly Place[];
}

/** Computes what is to be served on each Node of the facts. */
export function plansOf({ index, key, views, proxyAll }: Facts): readonly NodePlan[] {
    return views.flatMap((view: NodeView) => {
        const explanation = index.explain(key, view);
        if (explanation === undefined) return [];
        const name = view.node.metadata?.name ?? "";
        return [{ name, explanation, places: placesOf(explanation.served, proxyAll) }];
    });
}

/** Makes the report from what is to be served and what was read of OVS. */
export function serviceReport(
    {
        key,
        service,
        proxyAll,
        assumptions,
        nodeProblems,
    }: Pick<Facts, "key" | "service" | "proxyAll" | "assumptions" | "nodeProblems">,
    plans: readonly NodePlan[],
    reads: readonly AgentRead<readonly OvsPlace[]>[],
): ServiceReport {
    const {
        type = "ClusterIP",
        internalTrafficPolicy = "Cluster",
        externalTrafficPolicy = "Cluster",
    } = service.spec ?? {};
    const readOf = new Map(reads.map((read) => [read.node, read]));
    const groups = new Map<string, NodesReport>();
    for (const plan of plans) {
        const { nodes: _, ovs: __, ...same } = nodeReport(plan, proxyAll);
        const text = JSON.stringify(same);
        const known = groups.get(text) ?? { ...same, nodes: [], ovs: [] };
        groups.set(text, {
            ...known,
            nodes: [...known.nodes, plan.name],
            ovs: [...known.ovs, ovsReport(plan, readOf.get(plan.name))],
        });
    }
    const affinity = affinityOf(service, plans);
    return {
        service: key,
        type,
        internalTrafficPolicy,
        externalTrafficPolicy,
        ...(affinity === undefined ? {} : { affinitySeconds: affinity }),
        assumptions,
        nodes: [...groups.values()],
        nodeProblems,
    };
}

function affinityOf({ spec }: ServiceObject, [first]: readonly NodePlan[]): number | undefined {
    return spec?.sessionAffinity === "ClientIP" ? first?.explanation.served.affinitySeconds : undefined;
}

function nodeReport({ explanation }: NodePlan, proxyAll: boolean): NodesReport {
    const { served, endpoints, unserved, unusedSlices } = explanation;
    return {
        nodes: [],
        ports: served.ports.map((port, at) => portReport(port, endpoints[at] ?? [], proxyAll)),
        ...(served.healthCheck === undefined ? {} : { healthCheck: served.healthCheck }),
        unserved,
        problems: served.problems.map(problemText),
        unusedSlices: unusedSlices.map(({ name, endpoints: count, rejection }) => ({
            slice: name,
            endpoints: count,
            text: rejection.text,
        })),
        ovs: [],
    };
}

function portReport(
    port: ServedPort,
    endpoints: ServiceExplanation["endpoints"][number],
    proxyAll: boolean,
): PortReport {
    const { name, protocol, family, addresses, nodePort } = port;
    const scopesAt = ({ inside, outside }: { readonly inside: Scope; readonly outside: Scope }): ScopeReport =>
        proxyAll ? { inside, outside } : { inside };
    const clients = [...addresses, ...(nodePort === undefined ? [] : [nodePort])].map(scopesAt);
    const used = new Set(clients.flatMap(({ inside, outside = inside }) => [inside, outside]));
    const scopes = (["cluster", "local"] as const).filter((scope) => used.has(scope));
    return {
        name,
        protocol,
        ipVersion: family,
        port: port.port,
        addresses: addresses.map((one) => ({ address: formatIp(one.ip), kind: one.kind, ...scopesAt(one) })),
        ...(nodePort === undefined ? {} : { nodePort: { port: nodePort.port, ...scopesAt(nodePort) } }),
        endpoints: endpoints.map((one) => endpointReport(one, scopes)),
    };
}

function endpointReport(
    { address, port, nodeName, slice, rejections }: ServiceExplanation["endpoints"][number][number],
    scopes: readonly Scope[],
): EndpointReport {
    return {
        address,
        ...(port === undefined ? {} : { port }),
        ...(nodeName === undefined ? {} : { node: nodeName }),
        slice,
        scopes: scopes.map((scope) => {
            const rejection = rejections[scope];
            return rejection === undefined ? { scope, chosen: true } : { scope, chosen: false, ...rejection };
        }),
    };
}

function ovsReport({ name: node, places }: NodePlan, read: AgentRead<readonly OvsPlace[]> | undefined): OvsReport {
    if (read === undefined) return { node, state: "unread", reason: "no agent Pod is there" };
    if (read.kind === "unread") return { node, state: "unread", reason: read.reason };
    const found = differences(places, read.value);
    return {
        node,
        state: found.length === 0 ? "same" : "differs",
        differences: found,
        uncompared: uncompared(read.value),
        flows: read.value.flatMap((place) => place.flows.map((flow) => ({ place: placeText(place), ...flow }))),
    };
}
