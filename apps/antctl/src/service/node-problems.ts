import { events, isKubeError, type KubeEvent } from "@antrea/kube";
import { type ProblemReason } from "@antrea/services";
import { readEvent, type Cluster, type PodInfo } from "../cluster/index.ts";
import { type NamedObject } from "../object-ref.ts";

/** Reasons of what depends on programs and addresses of a Node, so that only its agent finds it. */
const nodeReasons = new Set<string>([
    "FailedToStartServiceHealthcheck",
    "PortUsedByNode",
    "StandInsUsedUp",
] satisfies readonly (ProblemReason | "FailedToStartServiceHealthcheck")[]);

/** What the agent of a Node has reported about a Service, and only it can know. */
export interface NodeProblem {
    readonly node: string;
    readonly reason: string;
    /** The text of the event. */
    readonly text: string;
    /** When it was reported last (RFC 3339); absent if the event has no time. */
    readonly time?: string;
}

/**
 * The problems of a Service that agents have reported by events, of each Node the latest first; each once. Those of agents
 * that are gone are left out, as the next agent reports what is left of them. Undefined if you may not list events.
 * Rejects with KubeError.
 *
 * @param agents the Pods of the agents
 */
export async function readNodeProblems(
    cluster: Pick<Cluster, "list">,
    { namespace, name, uid }: NamedObject & { readonly uid: string },
    agents: readonly Pick<PodInfo, "name" | "nodeName">[],
): Promise<readonly NodeProblem[] | undefined> {
    const nodeOf = new Map(agents.map((agent) => [agent.name, agent.nodeName]));
    const read = (event: KubeEvent): NodeProblem | undefined => {
        const { reason, note, time } = readEvent(event);
        const node = nodeOf.get(event.reportingInstance ?? "");
        if (node === undefined || !nodeReasons.has(reason)) return undefined;
        return { node, reason, text: note, ...(time === undefined ? {} : { time }) };
    };
    const fieldSelector = `regarding.kind=Service,regarding.name=${name},regarding.uid=${uid}`;
    try {
        const found = await cluster.list(events, read, { namespace, fieldSelector });
        const sorted = found.toSorted((a, b) =>
            a.node < b.node ? -1 : a.node > b.node ? 1 : momentOf(b) - momentOf(a),
        );
        const texts = Map.groupBy(sorted, ({ node, reason, text }) => JSON.stringify([node, reason, text]));
        return [...texts.values()].flatMap(([latest]) => latest ?? []);
    } catch (error) {
        if (isKubeError(error, "FORBIDDEN")) return undefined;
        throw error;
    }
}

function momentOf({ time }: NodeProblem): number {
    return Date.parse(time ?? "") || 0;
}
