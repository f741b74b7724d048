import { type Flow } from "@antrea/openflow";
import { bridged, forward } from "./bridged-forwarding.ts";
import { Category } from "./cookies.ts";
import { begunTo, toPrefix } from "./fields.ts";
import { type BridgedPod, type BridgingInput, type PipelineInput, type PodInput } from "./inputs.ts";
import { setDestination } from "./l3.ts";
import { choosePort } from "./output.ts";
import { type NextTable, type PipelinePart } from "./part.ts";
import { CtMark, load, partsAre, Reg } from "./registers.ts";
import { Priority } from "./tables.ts";

/**
 * Forwards packets of bridged Pods to Service CIDRs by the gateway; has no flows without Service CIDRs. Its category is
 * `service`, as only the API server has the Service CIDRs for certain and they may change.
 */
export function serviceCidrPart(
    { families, gateway }: Pick<PipelineInput, "families" | "gateway">,
    { serviceCidrs }: Pick<BridgingInput, "serviceCidrs">,
): PipelinePart {
    const toService = [setDestination(gateway.mac), ...choosePort(gateway.ofPort), load(Reg.toService, 1)];
    return {
        tables: [],
        category: Category.service,
        flows: (next) =>
            serviceCidrs
                .filter(({ family }) => families.includes(family))
                .map((cidr) =>
                    forward(Priority.lower, { ...toPrefix(cidr), ...bridged }, toService, next.into("switching")),
                ),
    };
}

/**
 * Flows for connections of a bridged Pod to a Service at an address of its own subnet. The Pod has addressed the station that
 * has this address and not its router: a machine that does not forward, or a Node, whose connection tracking would see one
 * direction only, as answers come to the Pod directly, and so take the packets for invalid, which kube-proxy drops. What
 * has to go by the router therefore goes by the gateway with the virtual source and comes back there, as what the host
 * serves. `belowLower`: endpoints that the switch reaches without a router have flows above. The Pod is not checked
 * (`checkPod`).
 */
export function onLinkServiceFlows(next: NextTable, pod: PodInput, { subnets }: BridgedPod): Flow[] {
    return subnets.map((subnet) =>
        forward(
            Priority.belowLower,
            { ...begunTo(subnet), in_port: pod.ofPort, ...partsAre([Reg.bridged, 1], [CtMark.service, 1]) },
            [setDestination(pod.gatewayMac), load(Reg.toService, 1)],
            next.into("switching"),
        ),
    );
}
