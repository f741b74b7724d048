import { fillLevels } from "../allocations/fill-levels.ts";
import { openLoop } from "../allocations/open-loop.ts";
import { sideBySide } from "../allocations/side-by-side.ts";
import { AllocationsStage } from "../allocations/stage.ts";
import { watchingAgents } from "../allocations/watching.ts";
import { type Result } from "../result.ts";

export interface AllocationsPart {
    readonly id: string;
    readonly label: string;
    readonly run: () => Promise<readonly Result[]>;
}

/** The agent's allocation against a real API server, in parts that each get a new one. */
export const allocationParts: readonly AllocationsPart[] = [
    part("claims-1", "allocations of 1 agent", (stage) => sideBySide(stage, 1)),
    part("claims-10", "allocations of 10 agents", (stage) => sideBySide(stage, 10)),
    part("claims-100", "allocations of 100 agents", (stage) => sideBySide(stage, 100)),
    part("claims-open", "allocations at a steady rate", openLoop),
    part("claims-full", "allocations in empty and full pools", fillLevels),
    part("claims-watched", "allocations watched by 1,000 agents", watchingAgents),
];

function part(
    id: string,
    label: string,
    measure: (stage: AllocationsStage) => Promise<readonly Result[]>,
): AllocationsPart {
    const run = async (): Promise<readonly Result[]> => {
        await using stage = await AllocationsStage.start();
        // The stage is kept until the last result.
        return await measure(stage);
    };
    return { id, label, run };
}
