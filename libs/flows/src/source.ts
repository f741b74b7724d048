import { classifierFlow } from "./classifier.ts";
import { type PipelineInput } from "./inputs.ts";
import { linkLocalsOf } from "./nd.ts";
import { type PipelinePart } from "./part.ts";
import { Source } from "./registers.ts";
import { gatewaySpoofGuard } from "./spoof-guard.ts";

/** Tables that identify the sender and check its addresses. */
export const sourceTables = [
    { table: "Classifier", stage: "source", miss: "drop" },
    { table: "SpoofGuard", stage: "source", miss: "drop" },
] as const;

/** Source and spoof guard of packets from the gateway. */
export function sourcePart({ families, gateway }: Pick<PipelineInput, "families" | "gateway">): PipelinePart {
    return {
        tables: sourceTables,
        flows: (next) => [
            classifierFlow(next, { ofPort: gateway.ofPort, source: Source.gateway }),
            ...gatewaySpoofGuard(next, families, gateway, linkLocalsOf(gateway)),
        ],
    };
}
