import { orAborted } from "@antrea/async";
import type { Platform } from "../platform.ts";
import { formatRounds, roundsKey } from "./bridge/index.ts";
import { EarlierFlows, FlowRestore } from "./flow-table/index.ts";
import type { AgentPipeline } from "./pipeline.ts";

/** Dependencies of FlowStart, which starts `openflow`; the caller closes it. */
export interface FlowStartComponents extends Pick<
    Platform,
    "bridge" | "flowTable" | "logger" | "openflow" | "readiness"
> {
    readonly pipeline: Pick<AgentPipeline, "applyTo" | "flows" | "isComplete">;
}

/**
 * Replaces the flows of earlier starts of the agent by those of this start: installs these alongside, then deletes the
 * earlier ones, but those to other Nodes and to Services only once their replacements are known. The methods are called
 * in the order install, deleteEarlier, deleteLearned, the last repeatedly.
 */
export class FlowStart {
    readonly #components: FlowStartComponents;
    readonly #restore: FlowRestore;
    #earlier: EarlierFlows | undefined;

    constructor(components: FlowStartComponents) {
        const { bridge, flowTable, logger } = components;
        this.#components = components;
        const release = (limit?: AbortSignal): Promise<void> => bridge.endFlowRestore(limit);
        this.#restore = new FlowRestore({ flowTable, release, logger: logger.child("flows") });
    }

    /**
     * Begins a round and starts the connection to OVS, which the caller closes; called once, with all flows staged.
     * Resolves when OVS has them and those of the pipeline, with the condition `openflow` met; each later connection
     * gets a replay. Rejects with an error of the pipeline or of OVSDB, or if the signal aborts.
     */
    async install(signal: AbortSignal): Promise<void> {
        const { bridge, flowTable, openflow, pipeline, readiness } = this.#components;
        for (const { owner, flows } of await pipeline.flows(signal)) flowTable.stage(owner, flows);
        const rounds = await bridge.beginRound(signal);
        flowTable.useRound(rounds.current, rounds.earlier);
        this.#earlier = new EarlierFlows(
            {
                flowTable,
                learned: (limit) => this.#installLearned(limit),
                forgotten: (limit) =>
                    bridge.setExternalId(roundsKey, formatRounds({ current: rounds.current, earlier: [] }), limit),
            },
            { rounds: rounds.earlier },
        );
        const firstReplay = Promise.withResolvers<void>();
        openflow.onReady(async (link) => {
            await this.#restore.replay(link);
            readiness.met("openflow");
            firstReplay.resolve();
        });
        openflow.start(signal);
        await orAborted(firstReplay.promise, signal);
    }

    /**
     * To be called once, when all flows of this start are in OVS: lets OVS forward (`flow-restore-wait`), and deletes
     * the earlier flows that are replaced without the API server. A database that cannot be written is only logged;
     * rejects with OpenFlowError, on abort `ABORTED`.
     */
    async deleteEarlier(signal: AbortSignal): Promise<void> {
        await this.#restore.allKnown(signal);
        await this.#earlier?.deleteOwn(signal);
    }

    /**
     * Deletes the other earlier flows, if the pipeline is complete. To be called repeatedly, when OVS has the flows to
     * all Nodes; no effect once they are deleted. Rejects with OpenFlowError or OvsdbError.
     */
    async deleteLearned(limit: AbortSignal): Promise<void> {
        await this.#earlier?.deleteLearned(limit);
    }

    async #installLearned(limit: AbortSignal): Promise<boolean> {
        const { flowTable, pipeline } = this.#components;
        if (pipeline.isComplete === undefined) return true;
        if (!pipeline.isComplete) return false;
        await pipeline.applyTo(flowTable, limit);
        return true;
    }
}
