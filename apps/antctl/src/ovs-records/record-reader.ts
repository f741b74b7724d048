import { readAgents, type AgentComponents, type AgentRead } from "./agents.ts";
import { listPorts, OvsOutputError, readPorts, type PortRecord } from "./ports.ts";

/** The OVS records of one Node, or a text why they could not be read. */
export type NodeRead =
    | { readonly kind: "read"; readonly node: string; readonly records: readonly PortRecord[] }
    | Extract<AgentRead<unknown>, { readonly kind: "unread" }>;

/**
 * Reads the OVS records of all Nodes by running ovs-vsctl in the agent Pods, up to 8 at once. It keeps nothing between
 * calls of `read`, and does not close its components.
 */
export class RecordReader {
    readonly #components: AgentComponents;

    constructor(components: AgentComponents) {
        this.#components = components;
    }

    /**
     * Reads every Node that has an agent Pod, and sorts them by name. A Node that cannot be read is in the result as
     * `unread`; rejects with KubeError if the agent Pods cannot be listed.
     */
    async read(): Promise<readonly NodeRead[]> {
        const reads = await readAgents(this.#components, async (run) => recordsIn(await run(listPorts)));
        return reads.map((read) =>
            read.kind === "unread" ? read : { kind: "read", node: read.node, records: read.value },
        );
    }
}

function recordsIn(output: string): readonly PortRecord[] {
    try {
        return readPorts(output);
    } catch (cause) {
        if (!(cause instanceof OvsOutputError)) throw cause;
        throw new OvsOutputError("BAD_OUTPUT", "remote", "the output of ovs-vsctl cannot be used", { cause });
    }
}
