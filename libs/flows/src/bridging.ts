import { bridgedForwardingPart, bridgedForwardingTables } from "./bridged-forwarding.ts";
import { serviceCidrPart } from "./bridged-services.ts";
import { type PipelineInput } from "./inputs.ts";
import { type PipelinePart, type TableUse } from "./part.ts";
import { serviceSnatPart } from "./services/service-snat.ts";
import { serviceSnatTables } from "./services/tables.ts";
import { underlayPart, underlayTables } from "./underlay.ts";
import { vlanPart, vlanTables } from "./vlan.ts";

/** The tables that bridging mode adds to `nodeTables`, for `Pipeline`. */
export const bridgingTables: readonly TableUse[] = [
    ...underlayTables,
    ...bridgedForwardingTables,
    ...serviceSnatTables,
    ...vlanTables,
];

/**
 * Parts of the pipeline in bridging mode that are independent of Pods; empty for a Node that is not in bridging mode.
 * `nodeParts` checks their input.
 */
export function bridgingParts(input: PipelineInput): readonly PipelinePart[] {
    const { bridging } = input;
    if (bridging === undefined) return [];
    return [
        underlayPart(input, bridging),
        bridgedForwardingPart(input, bridging),
        serviceCidrPart(input, bridging),
        serviceSnatPart(input),
        vlanPart(bridging),
    ];
}
