import { type Flow } from "@antrea/openflow";
import { arpFlows, bridgedArpFlows, proxyArpFlow } from "./arp.ts";
import { missFlows, rootFlows } from "./base.ts";
import { bridgedForwardingFlows, toBridgedPodFlows, toPeerFlows } from "./bridged-forwarding.ts";
import { classifierFlow } from "./classifier.ts";
import { conntrackFlows } from "./conntrack.ts";
import { Category, type FlowSet } from "./cookies.ts";
import {
    checkMac,
    checkPeer,
    checkPipeline,
    checkPod,
    checkVlan,
    type BridgedPeerInput,
    type BridgedPod,
    type BridgingInput,
    type PipelineInput,
    type PodInput,
    type TunnelPeerInput,
    type VlanInput,
} from "./inputs.ts";
import { bridgingL2Flows, l2Flow } from "./l2.ts";
import { bridgedPodL3Flows, foreignPodFlows, l3BaseFlows, podL3Flows, tunnelPeerL3Flows } from "./l3.ts";
import { midStreamFlows } from "./mid-stream.ts";
import { bridgedPodNdFlows, gatewayNdFlows, linkLocalsOf, ndBaseFlows, podNdFlows } from "./nd.ts";
import { outputFlow } from "./output.ts";
import { Source } from "./registers.ts";
import { serviceSnatFlows } from "./service-snat.ts";
import { gatewaySpoofGuard, podSpoofGuard } from "./spoof-guard.ts";
import { bridgingMissActions, missActions } from "./tables.ts";
import { tunnelGuard, tunnelMac } from "./tunnel.ts";
import { podSwitchFlows, trunkFlows, underlaySwitchFlows, vlanSwitchFlows } from "./underlay.ts";
import { markBridged, vlanTableFlows } from "./vlan.ts";

/**
 * The flows that a Node has before its first Pod: the ways through the tables and the gateway. `INVALID_INPUT` when a
 * family lacks its gateway address or podCIDR.
 */
export function pipelineFlows(input: PipelineInput): FlowSet {
    checkPipeline(input);
    const { families, gateway, podPrefixes, tunnel, bridging } = input;
    const isBridging = bridging !== undefined;
    const linkLocals = linkLocalsOf(gateway);
    const flows = [
        ...missFlows(isBridging ? bridgingMissActions : missActions),
        ...rootFlows(families),
        classifierFlow(gateway.ofPort, Source.gateway),
        ...gatewaySpoofGuard(families, gateway, linkLocals),
        ...(families.includes(4) ? arpFlows(gateway) : []),
        ...(families.includes(6) ? [...ndBaseFlows(gateway, linkLocals), ...gatewayNdFlows(gateway, linkLocals)] : []),
        ...conntrackFlows(input),
        ...l3BaseFlows(input),
        ...(input.forgetsConnections ? midStreamFlows(input) : []),
        l2Flow(gateway),
        ...(tunnel === undefined
            ? []
            : [
                  classifierFlow(tunnel.ofPort, Source.tunnel),
                  ...tunnelGuard(tunnel.ofPort, families, podPrefixes),
                  l2Flow({ ofPort: tunnel.ofPort, mac: tunnelMac }),
              ]),
        ...(isBridging ? bridgingFlows(input, bridging) : []),
        outputFlow(),
    ];
    return { category: Category.default, flows };
}

function bridgingFlows(input: PipelineInput, bridging: BridgingInput): Flow[] {
    return [
        ...trunkFlows(bridging),
        ...underlaySwitchFlows(input.families, bridging),
        ...bridgedForwardingFlows(input, bridging),
        ...bridgingL2Flows(bridging.uplink.ofPort),
        ...input.families.flatMap(serviceSnatFlows),
        ...vlanTableFlows(bridging),
    ];
}

/**
 * The flows of one Pod interface. Table, priority and match of each name the Pod's port, MAC or IP address: flows of two
 * Pods never replace each other, and those of one Pod replace themselves in place. A Pod that takes over an address has
 * to come after the flows of the last owner are gone.
 */
export function podFlows(input: PodInput): FlowSet {
    checkPod(input);
    const flows = input.bridged === undefined ? subnetPodFlows(input) : bridgedPodFlows(input, input.bridged);
    return { category: Category.podConnectivity, flows };
}

function subnetPodFlows(input: PodInput): Flow[] {
    return [
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
}

function bridgedPodFlows(input: PodInput, bridged: BridgedPod): Flow[] {
    const { vlan } = bridged;
    return [
        classifierFlow(input.ofPort, Source.pod, markBridged(vlan)),
        ...podSpoofGuard(input),
        ...bridgedArpFlows(input, vlan),
        ...bridgedPodNdFlows(input),
        ...podSwitchFlows(input, vlan),
        ...toBridgedPodFlows(input, vlan),
        ...bridgedPodL3Flows(input, bridged),
    ];
}

/** The flows by tunnel to the Pods of another Node, one for each of its podCIDRs. */
export function tunnelPeerFlows(input: TunnelPeerInput): FlowSet {
    checkPeer(input);
    return { category: Category.podConnectivity, flows: tunnelPeerL3Flows(input) };
}

/**
 * The flows of a VLAN while this Node has bridged Pods in it; they reach the Pods only together with the Pods' own. The
 * untagged network works for the Node without them.
 */
export function vlanFlows(input: VlanInput): FlowSet {
    checkVlan(input);
    return { category: Category.podConnectivity, flows: vlanSwitchFlows(input) };
}

/** The ways of untagged bridged Pods to the Pods of another Node, one for each of its podCIDRs. */
export function bridgedPeerFlows(input: BridgedPeerInput): FlowSet {
    checkMac("mac", input.mac);
    return { category: Category.podConnectivity, flows: toPeerFlows(input) };
}
