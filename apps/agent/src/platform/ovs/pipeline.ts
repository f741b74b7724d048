import { Category, Pipeline, type FlowSet, type NextTable, type PipelinePart, type TableUse } from "@antrea/flows";
import { AntreaError } from "@antrea/errors";

/** What one feature of the agent has in the pipeline. */
export interface FeaturePipeline {
    /** The tables that it needs, as long as this process runs. */
    readonly tables: readonly TableUse[];
    /** Its flows for ports and addresses as they are now; puts the ports that they name in place first. */
    parts(limit: AbortSignal): Promise<readonly PipelinePart[]>;
}

/** The flows of one owner in the flow table. */
export interface PipelineFlows {
    readonly owner: string;
    readonly flows: FlowSet;
}

function ownerOf(category: Category): string {
    return category === Category.default ? "pipeline" : `pipeline/${category}`;
}

/** - `NOT_READY`: flows are asked for before the features have said which tables they use */
class AgentPipelineError extends AntreaError<"NOT_READY"> {}

/** The pipeline of this Node, put together from what the features hand over. */
export class AgentPipeline implements NextTable {
    #features: readonly FeaturePipeline[] = [];
    #pipeline: Pipeline | undefined;

    /** All features that have a part in it; called once, before any flow is made. */
    use(features: readonly FeaturePipeline[]): void {
        this.#features = features;
        this.#pipeline = new Pipeline(features.flatMap(({ tables }) => tables));
    }

    after(...[table, family]: Parameters<NextTable["after"]>): ReturnType<NextTable["after"]> {
        return this.#current.after(table, family);
    }

    into(...[stage, family]: Parameters<NextTable["into"]>): ReturnType<NextTable["into"]> {
        return this.#current.into(stage, family);
    }

    /** The flows that no Pod and no other Node owns, for the ports as they are now; those of each category have an owner. */
    async flows(limit: AbortSignal): Promise<readonly PipelineFlows[]> {
        const parts: PipelinePart[] = [];
        for (const feature of this.#features) parts.push(...(await feature.parts(limit)));
        return this.#current.flows(parts).map((flows) => ({ owner: ownerOf(flows.category), flows }));
    }

    get #current(): Pipeline {
        if (this.#pipeline !== undefined) return this.#pipeline;
        throw new AgentPipelineError("NOT_READY", "internal", "the tables of the pipeline are not known yet");
    }
}
