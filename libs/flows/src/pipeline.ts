import { arpFlows, proxyArpFlow } from "./arp.ts";
import { missFlows, rootFlows } from "./base.ts";
import { classifierFlow } from "./classifier.ts";
import { conntrackFlows } from "./conntrack.ts";
import { Category, type FlowSet } from "./cookies.ts";
import {
    checkPeer,
    checkPipeline,
    checkPod,
    type PipelineInput,
    type PodInput,
    type TunnelPeerInput,
} from "./inputs.ts";
import { l2Flow } from "./l2.ts";
import { foreignPodFlows, l3BaseFlows, podL3Flows, tunnelPeerL3Flows } from "./l3.ts";
import { gatewayNdFlows, linkLocalsOf, ndBaseFlows, podNdFlows } from "./nd.ts";
import { outputFlow } from "./output.ts";
import { Source } from "./registers.ts";
import { gatewaySpoofGuard, podSpoofGuard } from "./spoof-guard.ts";
import { tunnelGuard, tunnelMac } from "./tunnel.ts";

/**
 * The flows that a Node has before its first Pod: the ways through the tables and the gateway. `INVALID_INPUT` when a
 * family lacks its gateway address or podCIDR.
 */
export function pipelineFlows(input: PipelineInput): FlowSet {
    checkPipeline(input);
    const { families, gateway, podPrefixes, tunnel } = input;
    const linkLocals = linkLocalsOf(gateway);
    const flows = [
        ...missFlows(),
        ...rootFlows(families),
        classifierFlow(gateway.ofPort, Source.gateway),
        ...gatewaySpoofGuard(families, gateway, linkLocals),
        ...(families.includes(4) ? arpFlows(gateway) : []),
        ...(families.includes(6) ? [...ndBaseFlows(gateway, linkLocals), ...gatewayNdFlows(gateway, linkLocals)] : []),
        ...conntrackFlows(families),
        ...l3BaseFlows(input),
        l2Flow(gateway),
        ...(tunnel === undefined
            ? []
            : [
                  classifierFlow(tunnel.ofPort, Source.tunnel),
                  ...tunnelGuard(tunnel.ofPort, families, podPrefixes),
                  l2Flow({ ofPort: tunnel.ofPort, mac: tunnelMac }),
              ]),
        outputFlow(),
    ];
    return { category: Category.default, flows };
}

/**
 * The flows of one Pod interface. Table, priority and match of each name the Pod's port, MAC or IP address: flows of two
 * Pods never replace each other, and those of one Pod replace themselves in place. A Pod that takes over an address has
 * to come after the flows of the last owner are gone.
 */
export function podFlows(input: PodInput): FlowSet {
    checkPod(input);
    const flows = [
        classifierFlow(input.ofPort, Source.pod),
        ...podSpoofGuard(input),
        ...arpFlows(input),
        ...(input.foreignSubnet === true
            ? [proxyArpFlow(input.ofPort, input.gatewayMac), ...foreignPodFlows(input)]
            : []),
        ...podNdFlows(input),
        ...podL3Flows(input),
        l2Flow(input),
    ];
    return { category: Category.podConnectivity, flows };
}

/** The flows by tunnel to the Pods of another Node, one for each of its podCIDRs. */
export function tunnelPeerFlows(input: TunnelPeerInput): FlowSet {
    checkPeer(input);
    return { category: Category.podConnectivity, flows: tunnelPeerL3Flows(input) };
}
