import { AntreaError, messageOf } from "@antrea/errors";
import { agentSelector, type Cluster, type PodInfo } from "../cluster/index.ts";
import { type PodExec } from "../pod-exec/index.ts";

/** What was read of the OVS of one Node, or a text why it could not be read. */
export type AgentRead<T> =
    | { readonly kind: "read"; readonly node: string; readonly value: T }
    | { readonly kind: "unread"; readonly node: string; readonly reason: string };

/** Runs a command in the antrea-ovs container of an agent Pod and returns its standard output; rejects as PodExec. */
export type RunInOvs = (command: readonly string[]) => Promise<string>;

/** What reading the OVS of Nodes depends on: the parts of a Session. */
export interface AgentComponents {
    readonly cluster: Pick<Cluster, "pods">;
    readonly exec: Pick<PodExec, "run">;
}

const ovsContainer = "antrea-ovs";
/** Nodes that are read concurrently. */
const parallel = 8;

/**
 * Reads the OVS of all Nodes that have an agent Pod, up to 8 at once, and sorts them by name; `read` runs its commands
 * there. A Node for which it rejects with an AntreaError is in the result as `unread`. Rejects with KubeError if the
 * agent Pods cannot be listed.
 *
 * @param isWanted leaves other Nodes out
 */
export async function readAgents<T>(
    { cluster, exec }: AgentComponents,
    read: (run: RunInOvs, node: string) => Promise<T>,
    isWanted: (node: string) => boolean = () => true,
): Promise<readonly AgentRead<T>[]> {
    const agents = newestOfNode(await cluster.pods({ labelSelector: agentSelector }));
    const reads: AgentRead<T>[] = [];
    const waiting = [...agents.values()].filter(({ nodeName = "" }) => isWanted(nodeName)).values();
    await Promise.all(
        Array.from({ length: parallel }, async () => {
            // The workers share one iterator, so that each Node is read once.
            for (const agent of waiting) reads.push(await readAgent(agent, exec, read));
        }),
    );
    return reads.sort((a, b) => (a.node < b.node ? -1 : 1));
}

async function readAgent<T>(
    { namespace, name: pod, nodeName: node = "", phase }: PodInfo,
    exec: Pick<PodExec, "run">,
    read: (run: RunInOvs, node: string) => Promise<T>,
): Promise<AgentRead<T>> {
    if (phase !== "Running") return { kind: "unread", node, reason: `its agent Pod ${namespace}/${pod} is ${phase}` };
    const run: RunInOvs = async (command) => {
        const { stdout } = await exec.run({ namespace, pod, container: ovsContainer, command });
        return stdout;
    };
    try {
        return { kind: "read", node, value: await read(run, node) };
    } catch (error) {
        if (!(error instanceof AntreaError)) throw error;
        return { kind: "unread", node, reason: messageOf(error) };
    }
}

/** One agent Pod per Node: during a DaemonSet update the old one may still exist. */
function newestOfNode(agents: readonly PodInfo[]): ReadonlyMap<string, PodInfo> {
    const byNode = new Map<string, PodInfo>();
    for (const agent of agents) {
        if (agent.nodeName === undefined) continue;
        const other = byNode.get(agent.nodeName);
        if (other === undefined || other.deleting || other.phase !== "Running") byNode.set(agent.nodeName, agent);
    }
    return byNode;
}
