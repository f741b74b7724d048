import {
    nodeParts,
    nodeTables,
    OfPort,
    Pipeline,
    podFlows,
    tunnelPart,
    tunnelPeerFlows,
    type FlowSet,
    type PipelineInput,
} from "@antrea/flows";
import { type IpAddress, type Prefix } from "@antrea/ip";
import { BenchError } from "../error.ts";

/** The flows of one owner in the agent's table. */
export interface OwnedFlows {
    readonly owner: string;
    readonly set: FlowSet;
}

const podCount = 110;
const gatewayMac = Uint8Array.of(0x0e, 0, 0, 0, 0, 1);

/**
 * So many flows of a dual-stack Node in mode encap: the static ones, those of 110 Pods, and for the rest those of as
 * many other Nodes as needed.
 */
export function flowsOfNode(count: number): readonly OwnedFlows[] {
    const next = new Pipeline(nodeTables);
    const node: PipelineInput = {
        families: [4, 6],
        gateway: { ofPort: OfPort.gateway, mac: gatewayMac, ips: [ipv4(0x0a0a_0001), ipv6(0x1n, 1n)] },
        podPrefixes: subnets(0),
        forgetsConnections: true,
    };
    const owned: OwnedFlows[] = [
        ...next
            .flows([...nodeParts(node), tunnelPart({ ...node, ofPort: OfPort.tunnel })])
            .map((set) => ({ owner: `pipeline/${set.category}`, set })),
    ];
    for (let pod = 2; pod < podCount + 2; pod++) {
        const set = podFlows(next, {
            ofPort: 40_000 + pod,
            mac: Uint8Array.of(0x0a, 0, 0, 0, 0, pod),
            gatewayMac,
            ips: [ipv4(0x0a0a_0000 + pod), ipv6(0x1n, BigInt(pod))],
        });
        owned.push({ owner: `pod/${pod}`, set });
    }
    let left = count - owned.reduce((sum, { set }) => sum + set.flows.length, 0);
    if (left < 0) throw new BenchError("BAD_ARGUMENT", "internal", `a Node has more than ${count} flows`);
    for (let peer = 1; left > 0; peer++) {
        const podPrefixes = subnets(peer).slice(0, left);
        const set = tunnelPeerFlows(next, { podPrefixes, remote: ipv4(0xac14_0000 + peer), gatewayMac });
        owned.push({ owner: `peer/${peer}`, set });
        left -= set.flows.length;
    }
    return owned;
}

/** The podCIDRs of the Node with this index: 10.10.0.0/24 and fd00:10:0:1::/64 for Node 0. */
function subnets(index: number): readonly Prefix[] {
    return [
        { family: 4, base: BigInt(0x0a0a_0000 + index * 256), length: 24 },
        { family: 6, base: ipv6(BigInt(index + 1), 0n).value, length: 64 },
    ];
}

function ipv4(value: number): IpAddress {
    return { family: 4, value: BigInt(value) };
}

function ipv6(subnet: bigint, host: bigint): IpAddress {
    return { family: 6, value: (0xfd00_0010_0000n << 80n) | (subnet << 64n) | host };
}
