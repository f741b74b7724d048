import { type Flow } from "@antrea/openflow";
import { arpFlows, bridgedArpFlows, proxyArpFlow } from "./arp.ts";
import { toBridgedPodFlows } from "./bridged-forwarding.ts";
import { onLinkServiceFlows } from "./bridged-services.ts";
import { checkPod } from "./check-inputs.ts";
import { classifierFlow } from "./classifier.ts";
import { Category, type FlowSet } from "./cookies.ts";
import { type BridgedPod, type PodInput } from "./inputs.ts";
import { l2Flow } from "./l2.ts";
import { bridgedPodL3Flows, foreignPodFlows, podL3Flows } from "./l3.ts";
import { bridgedPodNdFlows, podNdFlows } from "./nd.ts";
import { type NextTable } from "./part.ts";
import { Source } from "./registers.ts";
import { hairpinFlows } from "./services/service-snat.ts";
import { podSpoofGuard } from "./spoof-guard.ts";
import { podSwitchFlows } from "./underlay.ts";
import { markBridged } from "./vlan.ts";

/**
 * Returns the flows of one Pod interface. Table, priority and match of each contain the Pod's port, MAC or IP address,
 * so flows of two Pods never replace each other, and those of the same port, MAC and IP addresses replace their earlier
 * ones. Before an address moves to another Pod, the flows of the old owner must be removed. Throws as `checkPod`.
 */
export function podFlows(next: NextTable, input: PodInput): FlowSet {
    checkPod(input);
    const flows =
        input.bridged === undefined ? subnetPodFlows(next, input) : bridgedPodFlows(next, input, input.bridged);
    const own = input.services === true ? hairpinFlows(next, input) : [];
    return { category: Category.podConnectivity, flows: [...flows, ...own] };
}

function subnetPodFlows(next: NextTable, input: PodInput): Flow[] {
    return [
        classifierFlow(next, { ofPort: input.ofPort, source: Source.pod }),
        ...podSpoofGuard(next, input),
        ...arpFlows(next, input),
        ...(input.foreignSubnet === true
            ? [proxyArpFlow(input.ofPort, input.gatewayMac), ...foreignPodFlows(next, input)]
            : []),
        ...podNdFlows(next, input),
        ...podL3Flows(next, input),
        l2Flow(next, input),
    ];
}

function bridgedPodFlows(next: NextTable, input: PodInput, bridged: BridgedPod): Flow[] {
    const { vlan } = bridged;
    return [
        classifierFlow(next, { ofPort: input.ofPort, source: Source.pod, more: markBridged(vlan) }),
        ...podSpoofGuard(next, input),
        ...bridgedArpFlows(next, input, vlan),
        ...bridgedPodNdFlows(next, input),
        ...podSwitchFlows(next, input, vlan),
        ...toBridgedPodFlows(next, input, vlan),
        ...bridgedPodL3Flows(next, input, bridged),
        ...(input.services === true ? onLinkServiceFlows(next, input, bridged) : []),
    ];
}
