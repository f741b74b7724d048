import { Category, Pipeline, type FlowSet, type NextTable, type PipelinePart, type TableUse } from "@antrea/flows";
import { KeyedLock } from "@antrea/async";
import { AntreaError } from "@antrea/errors";
import type { FlowTable } from "./flow-table/index.ts";

/**
 * The contribution of one feature to the pipeline: its tables and the flows that belong to no Pod and no other Node.
 */
export interface FeaturePipeline {
    /** The tables that it uses, constant for the lifetime of the process. */
    readonly tables: readonly TableUse[];
    /**
     * Its flows for the current ports and addresses; first creates the ports to which they refer. Called for each build
     * of the pipeline. Rejects with the error that kept it from building them.
     */
    parts(limit: AbortSignal): Promise<readonly PipelinePart[]>;
    /**
     * For flows that depend on the API server: whether it has answered. Until then those of an earlier start of the
     * agent are kept. Absent: no flow depends on it.
     */
    isComplete?(): boolean;
}

/**
 * The flows of one category of the pipeline, as `FlowTable.apply` takes them; `owner` is `pipeline` or
 * `pipeline/CATEGORY`.
 */
export interface PipelineFlows {
    readonly owner: string;
    readonly flows: FlowSet;
}

function ownerOf(category: Category): string {
    return category === Category.default ? "pipeline" : `pipeline/${category}`;
}

/** - `NOT_READY`: flows are requested before the features have registered their tables */
class AgentPipelineError extends AntreaError<"NOT_READY"> {}

/**
 * The pipeline of this Node, combined from its base and the contributions of the features. No flow can be built before
 * `use`: `after`, `into`, `flows` and `applyTo` fail with AgentPipelineError `NOT_READY`.
 */
export class AgentPipeline implements NextTable {
    readonly #base: FeaturePipeline;
    #features: readonly FeaturePipeline[] = [];
    #pipeline: Pipeline | undefined;
    readonly #lock = new KeyedLock();

    /** @param base the tables and flows that every Node has; they precede those of the features */
    constructor(base: FeaturePipeline) {
        this.#base = base;
    }

    /**
     * Registers all features with a contribution; to be called once, before any flow is generated. Throws FlowsError
     * `PIPELINE` if two declare one table, or the order of tables is impossible.
     */
    use(features: readonly FeaturePipeline[]): void {
        this.#features = [this.#base, ...features];
        this.#pipeline = new Pipeline(this.#features.flatMap(({ tables }) => tables));
    }

    /** Whether the flows that depend on the API server are complete; undefined if no feature has such flows. */
    get isComplete(): boolean | undefined {
        const answers = this.#features.flatMap((feature) => feature.isComplete?.() ?? []);
        return answers.length === 0 ? undefined : !answers.includes(false);
    }

    /** See NextTable; throws AgentPipelineError `NOT_READY` before `use`. */
    after(...[table, family]: Parameters<NextTable["after"]>): ReturnType<NextTable["after"]> {
        return this.#current.after(table, family);
    }

    /** See NextTable; throws AgentPipelineError `NOT_READY` before `use`. */
    into(...[stage, family]: Parameters<NextTable["into"]>): ReturnType<NextTable["into"]> {
        return this.#current.into(stage, family);
    }

    /**
     * The flows that belong to neither a Pod nor another Node, for the current ports, with one owner per category.
     * Rejects with AgentPipelineError `NOT_READY` before `use`, or with the error of a feature's `parts`.
     */
    async flows(limit: AbortSignal): Promise<readonly PipelineFlows[]> {
        const parts: PipelinePart[] = [];
        for (const feature of this.#features) parts.push(...(await feature.parts(limit)));
        return this.#current.flows(parts).map((flows) => ({ owner: ownerOf(flows.category), flows }));
    }

    /**
     * Brings the current `flows` into OVS. The calls are carried out in their order, so that no older flows replace newer
     * ones. Rejects as `flows` and `FlowTable.apply`, on abort at once.
     */
    async applyTo(flowTable: Pick<FlowTable, "apply">, limit: AbortSignal): Promise<void> {
        await this.#lock.run("apply", async () => flowTable.apply(await this.flows(limit), limit), limit);
    }

    get #current(): Pipeline {
        if (this.#pipeline !== undefined) return this.#pipeline;
        throw new AgentPipelineError("NOT_READY", "internal", "the tables of the pipeline are not known yet");
    }
}
