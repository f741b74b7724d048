import { arpPart, arpTables } from "./arp.ts";
import { checkPipeline } from "./check-inputs.ts";
import { conntrackPart, conntrackTables } from "./conntrack.ts";
import { type PipelineInput } from "./inputs.ts";
import { l2Part, l2Tables } from "./l2.ts";
import { l3Part, l3Tables } from "./l3.ts";
import { midStreamPart } from "./mid-stream.ts";
import { ndPart, ndTables } from "./nd.ts";
import { outputPart, outputTables } from "./output.ts";
import { type PipelinePart, type TableUse } from "./part.ts";
import { rootPart, rootTables } from "./root.ts";
import { sourcePart, sourceTables } from "./source.ts";

/** The flow tables that every Node has, for `Pipeline`; bridging mode adds `bridgingTables`. */
export const nodeTables: readonly TableUse[] = [
    ...rootTables,
    ...arpTables,
    ...sourceTables,
    ...ndTables,
    ...conntrackTables,
    ...l3Tables,
    ...l2Tables,
    ...outputTables,
];

/**
 * Parts of the pipeline of every Node that are independent of Pods: the path through the tables, and the gateway. Those
 * of bridging mode are `bridgingParts`. Throws as `checkPipeline`: FlowsError `INVALID_INPUT`, or IpError
 * `INVALID_MAC`.
 */
export function nodeParts(input: PipelineInput): readonly PipelinePart[] {
    checkPipeline(input);
    return [
        rootPart(input),
        sourcePart(input),
        arpPart(input),
        ndPart(input),
        conntrackPart(input),
        l3Part(input),
        midStreamPart(input),
        l2Part(input),
        outputPart,
    ];
}
