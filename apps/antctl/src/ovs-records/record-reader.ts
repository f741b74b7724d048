import { AntreaError, messageOf } from "@antrea/errors";
import { agentSelector, type PodInfo, type Cluster } from "../cluster/index.ts";
import { type PodExec } from "../pod-exec/index.ts";
import { listPorts, OvsOutputError, readPorts, type PortRecord } from "./ports.ts";

/** The OVS records of one Node, or a text why they could not be read. */
export type NodeRead =
    | { readonly kind: "read"; readonly node: string; readonly records: readonly PortRecord[] }
    | { readonly kind: "unread"; readonly node: string; readonly reason: string };

/** What RecordReader depends on: the parts of a Session. */
export interface RecordReaderComponents {
    readonly cluster: Pick<Cluster, "pods">;
    readonly exec: Pick<PodExec, "run">;
}

const ovsContainer = "antrea-ovs";
/** Nodes that are read concurrently. */
const parallel = 8;

/**
 * Reads the OVS records of all Nodes by running ovs-vsctl in the agent Pods, up to 8 at once. It keeps nothing between
 * calls of `read`, and does not close its components.
 */
export class RecordReader {
    readonly #components: RecordReaderComponents;

    constructor(components: RecordReaderComponents) {
        this.#components = components;
    }

    /**
     * Reads every Node that has an agent Pod, and sorts them by name. A Node that cannot be read is in the result as
     * `unread`; rejects with KubeError if the agent Pods cannot be listed.
     */
    async read(): Promise<readonly NodeRead[]> {
        const agents = newestOfNode(await this.#components.cluster.pods({ labelSelector: agentSelector }));
        const reads: NodeRead[] = [];
        const waiting = agents.values();
        await Promise.all(
            Array.from({ length: parallel }, async () => {
                // The workers share one iterator, so that each Node is read once.
                for (const agent of waiting) reads.push(await this.#readNode(agent));
            }),
        );
        return reads.sort((a, b) => (a.node < b.node ? -1 : 1));
    }

    async #readNode(agent: PodInfo): Promise<NodeRead> {
        const node = agent.nodeName ?? "";
        if (agent.phase !== "Running") {
            const reason = `its agent Pod ${agent.namespace}/${agent.name} is ${agent.phase}`;
            return { kind: "unread", node, reason };
        }
        const { namespace, name: pod } = agent;
        try {
            const { stdout } = await this.#components.exec.run({
                namespace,
                pod,
                container: ovsContainer,
                command: listPorts,
            });
            return { kind: "read", node, records: readPorts(stdout) };
        } catch (error) {
            if (!(error instanceof AntreaError)) throw error;
            const what = error instanceof OvsOutputError ? "the output of ovs-vsctl cannot be used: " : "";
            return { kind: "unread", node, reason: what + messageOf(error) };
        }
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
