import { type Flow } from "@antrea/openflow";
import { answer } from "../arp.ts";
import { type PipelineInput } from "../inputs.ts";
import { inPortFlow } from "../output.ts";
import { type PipelinePart } from "../part.ts";
import { partsAre, Reg, Source } from "../registers.ts";
import { Priority, Table } from "../tables.ts";
import { serviceSource } from "./addresses.ts";
import { completePart } from "./complete.ts";
import { gatewayServiceFlows, serviceStateFlows } from "./connections.ts";
import { fragmentFlows } from "./fragments.ts";
import { serviceLbFlows } from "./load-balancer.ts";
import { nodePortMarkFlows } from "./node-ports.ts";
import { unSnatFlows } from "./service-reply.ts";
import { gatewaySnatFlows } from "./service-snat.ts";

/**
 * Parts of the pipeline of a Node whose switch serves Services that are independent of Services and Pods; empty for one
 * that does not. `nodeParts` checks their input.
 */
export function serviceParts(input: PipelineInput): readonly PipelinePart[] {
    const { families, services } = input;
    if (services === undefined) return [];
    const { proxyAll, keepsFragments = false, areComplete = true } = services;
    return [
        {
            tables: [],
            flows: (next) => [
                inPortFlow,
                ...families.flatMap((family) => [
                    ...unSnatFlows(next, family, input),
                    ...serviceStateFlows(next, family, input),
                    ...(keepsFragments ? fragmentFlows(next, family, input) : []),
                    ...serviceLbFlows(next, family, input),
                    ...(proxyAll
                        ? [
                              ...nodePortMarkFlows(next, family),
                              ...gatewayServiceFlows(next, family, input),
                              ...gatewaySnatFlows(next, family, input),
                          ]
                        : []),
                ]),
                ...(families.includes(4) ? virtualSourceFlows(input) : []),
            ],
        },
        ...(areComplete ? [completePart] : []),
    ];
}

/** A Pod with a route to all link-local addresses asks for the virtual source itself, which nobody on the underlay has. */
function virtualSourceFlows({ gateway, bridging }: Pick<PipelineInput, "gateway" | "bridging">): Flow[] {
    const answered = answer(gateway, serviceSource(4));
    if (bridging === undefined) return [answered];
    const match = { ...answered.match, ...partsAre([Reg.source, Source.pod]) };
    return [answered, { ...answered, table: Table.UnderlaySwitch, priority: Priority.top, match }];
}
