import { classifierFlow } from "./classifier.ts";
import { type PipelineInput } from "./inputs.ts";
import { type PipelinePart } from "./part.ts";
import { Source } from "./registers.ts";
import { gatewaySpoofGuard } from "./spoof-guard.ts";
import { linkLocalsOf } from "./station-ips.ts";

/**
 * Flow tables, for `Pipeline`, that identify the sender of IP packets by port and check its addresses; both drop what
 * no flow matches.
 */
export const sourceTables = [
    { table: "Classifier", stage: "source", miss: "drop" },
    { table: "SpoofGuard", stage: "source", miss: "drop" },
] as const;

/** Pipeline part that identifies packets from the gateway and checks their addresses. */
export function sourcePart({ families, gateway }: Pick<PipelineInput, "families" | "gateway">): PipelinePart {
    return {
        tables: sourceTables,
        flows: (next) => [
            classifierFlow(next, { ofPort: gateway.ofPort, source: Source.gateway }),
            ...gatewaySpoofGuard(next, families, gateway, linkLocalsOf(gateway)),
        ],
    };
}
