import { podIpsAnnotation, poolsAnnotation } from "@antrea/crd";
import { isFinished, type EventInfo } from "../cluster/index.ts";
import { type Block } from "./block.ts";
import { blocksOf } from "./blocks.ts";
import { allocationsOfPod, runsOnNodeSubnet, addressRequestOf, type Facts, type AddressRequest } from "./facts.ts";
import { explainNetworks, type InterfaceAddress, type NetworksReport } from "./networks.ts";
import { tryPools, type PoolTrial } from "./pool-trials.ts";

/** The report of `ipam explain pod`, as `-o json` prints it. */
export interface ExplainReport {
    readonly pod: {
        readonly namespace: string;
        readonly name: string;
        readonly uid: string;
        readonly node?: string;
        readonly phase: string;
        readonly ips: readonly string[];
    };
    /** Where the Pod's addresses come from. */
    readonly source: "Pools" | "NodeSubnet" | "HostNetwork";
    /** One sentence: why they come from this source. */
    readonly why: string;
    /** The effective annotations; unset ones are absent. */
    readonly annotations: { readonly from?: "Pod" | "Namespace"; readonly pools?: string; readonly podIps?: string };
    readonly gate: "on" | "off" | "unknown";
    /** In the order of the list; empty unless `source` is `Pools`. */
    readonly pools: readonly PoolTrial[];
    /** The allocations that the Pod has on the Pod network. */
    readonly has: readonly InterfaceAddress[];
    readonly networks: NetworksReport;
    /** What keeps the Pod from its addresses and networks; empty if nothing is known to. */
    readonly blocks: readonly Block[];
    /** One sentence: whether the Pod is blocked. */
    readonly verdict: string;
    /** The latest 10, latest first. */
    readonly events: readonly (EventInfo & { readonly about: "Pod" | "StatefulSet" })[];
}

const mostEvents = 10;

/** Explains the addresses of a Pod: their source, its allocations, and what blocks it. Sends no request. */
export function explain(facts: Facts): ExplainReport {
    const { pod, gate } = facts;
    const request = addressRequestOf(pod, facts.namespaceAnnotations);
    const onSubnet = request !== undefined && gate.state !== "off" && runsOnNodeSubnet(facts);
    const trials = request === undefined || gate.state === "off" || onSubnet ? [] : tryPools(facts, request);
    const networks = explainNetworks(facts);
    const blocks = [...(request === undefined ? [] : blocksOf(facts, request, trials)), ...networks.blocks];
    const has = allocationsOfPod(facts).map(({ address, pool, pod: holder, since }) => ({
        address,
        pool,
        interface: holder?.interface ?? "",
        ...(since === undefined ? {} : { since }),
    }));
    const text = (request?.named.from === "Pod" ? pod.annotations : facts.namespaceAnnotations)[poolsAnnotation];
    const podIps = pod.annotations[podIpsAnnotation];
    return {
        pod: {
            namespace: pod.namespace,
            name: pod.name,
            uid: pod.uids[0] ?? "",
            ...(pod.nodeName === undefined ? {} : { node: pod.nodeName }),
            phase: pod.phase,
            ips: pod.ips,
        },
        source: pod.hostNetwork
            ? "HostNetwork"
            : request === undefined || gate.state === "off" || onSubnet
              ? "NodeSubnet"
              : "Pools",
        why: why(facts, request?.named.from) + (onSubnet ? subnetText(facts, request) : ""),
        annotations: {
            ...(request === undefined ? {} : { from: request.named.from }),
            ...(request === undefined || text === undefined ? {} : { pools: text }),
            ...(podIps === undefined ? {} : { podIps }),
        },
        gate: gate.state,
        pools: trials,
        has,
        networks: networks.report,
        blocks,
        verdict: verdictOf(facts, blocks, has.length > 0 || pod.ips.length > 0),
        events: folded([
            ...facts.events.map((event) => ({ ...event, about: "Pod" as const })),
            ...facts.setEvents.map((event) => ({ ...event, about: "StatefulSet" as const })),
        ]).slice(0, mostEvents),
    };
}

/** Merges repeated events, keeping the latest text; events that differ only in sandbox IDs are the same. */
function folded(events: ExplainReport["events"]): ExplainReport["events"] {
    const sorted = events.toSorted((a, b) => ((a.time ?? "") < (b.time ?? "") ? 1 : -1));
    const same = ({ about, type, reason, note }: ExplainReport["events"][number]): string =>
        JSON.stringify([about, type, reason, note.replaceAll(/[0-9a-f]{12,}/g, "")]);
    return [...Map.groupBy(sorted, same).values()].flatMap(([latest, ...before]) =>
        latest === undefined
            ? []
            : [{ ...latest, count: before.reduce((sum, { count }) => sum + count, latest.count) }],
    );
}

function subnetText({ pod }: Facts, { named }: AddressRequest): string {
    const when = named.from === "Namespace" ? "before its Namespace had the annotation, or" : "";
    const text = ` But the Pod runs on ${pod.ips.join(", ")} of its Node's subnet, which it got ${when} while its agent did not heed IPPools.`;
    return `${text.replaceAll(/ +/g, " ")} Delete it, and the next one gets an address of IPPool ${named.names.join(", ")}.`;
}

function why({ pod, gate, namespaceAnnotations }: Facts, from: "Pod" | "Namespace" | undefined): string {
    if (pod.hostNetwork) return "The Pod uses the network of its Node (hostNetwork): it has no address of its own.";
    if (from === undefined) {
        return `Neither the Pod nor its Namespace has annotation ${poolsAnnotation}: its addresses come from the podCIDRs of its Node.`;
    }
    const both = from === "Pod" && namespaceAnnotations[poolsAnnotation] !== undefined;
    const winner =
        from === "Pod"
            ? `The annotation ${poolsAnnotation} of the Pod counts${both ? "; that of its Namespace does not" : ""}.`
            : `The annotation ${poolsAnnotation} of its Namespace counts; the Pod has none.`;
    switch (gate.state) {
        case "on":
            return winner;
        case "off":
            return `${winner} It has no effect: the feature gate AntreaIPAM of antrea-agent is off, so addresses come from the podCIDRs of the Node.`;
        case "unknown":
            return `${winner} Whether the feature gate AntreaIPAM is on could not be seen: ${gate.reason}.`;
    }
}

function verdictOf({ pod }: Facts, blocks: readonly Block[], hasAddress: boolean): string {
    if (pod.hostNetwork) return "Nothing blocks: it needs no address.";
    if (isFinished(pod)) return "The Pod has ended: it needs no address any more.";
    if (blocks.length > 0) return "What blocks now:";
    if (hasAddress) return "Nothing blocks: the Pod has its addresses.";
    return "Nothing is seen that blocks: if the Pod does not get on, see the events and the log of its Node's agent.";
}
