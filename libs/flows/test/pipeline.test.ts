import { describe, expect, it } from "@jest/globals";
import { flowKey, type Flow, type Match } from "@antrea/openflow";
import { type IpAddress } from "@antrea/ip";
import * as fc from "fast-check";
import { Table } from "../src/index.ts";
import {
    exampleBridgedPeer,
    exampleBridgedPod,
    exampleBridgingNode,
    exampleNode,
    examplePeer,
    examplePod,
    exampleTunnelNode,
    exampleVlan,
    bridgedPeerFlows,
    pipelineFlows,
    podFlows,
    tunnelPeerFlows,
    vlanFlows,
} from "./examples.ts";

const families = fc.constantFrom([4] as const, [6] as const, [4, 6] as const);
const podIndexes = fc.uniqueArray(fc.integer({ min: 1, max: 250 }), { maxLength: 4 });
const tunnelNode = fc.tuple(families, podIndexes).map(([used, indexes]) => [
    { name: "pipeline", flows: pipelineFlows(exampleTunnelNode(used)).flows },
    { name: "peer", flows: tunnelPeerFlows(examplePeer(used)).flows },
    ...indexes.map((index) => {
        const pod = { ...examplePod(index, used), foreignSubnet: index % 2 === 1 };
        return { name: `pod ${index}`, flows: podFlows(pod).flows };
    }),
]);

// Pods on the underlay are in the VLANs 0, 2 and 4; odd ones have addresses of the Node's subnet.
const bridgingNode = fc.tuple(families, podIndexes).map(([used, indexes]) => {
    const vlanOf = (index: number): number | undefined => (index % 2 === 1 ? undefined : index % 6);
    return [
        { name: "pipeline", flows: pipelineFlows(exampleBridgingNode(used)).flows },
        { name: "peer", flows: bridgedPeerFlows(exampleBridgedPeer(used)).flows },
        ...[0, 2, 4].map((vlan) => {
            const inside = indexes.filter((index) => vlanOf(index) === vlan);
            return { name: `VLAN ${vlan}`, flows: vlanFlows(exampleVlan(vlan, ...inside)).flows };
        }),
        ...indexes.map((index) => {
            const vlan = vlanOf(index);
            const pod = vlan === undefined ? examplePod(index, used) : exampleBridgedPod(index, vlan, used);
            return { name: `pod ${index}`, flows: podFlows(pod).flows };
        }),
    ];
});
const node = fc.oneof(tunnelNode, bridgingNode);

/** Whether some packet can match both. */
function overlap(a: Match, b: Match): boolean {
    return Object.entries(a).every(([field, left]) => {
        const right = b[field as keyof Match];
        if (right === undefined) return true;
        const [l, r] = [masked(left), masked(right)];
        return ((l.value ^ r.value) & l.mask & r.mask) === 0n;
    });
}

function masked(value: NonNullable<Match[keyof Match]>): { value: bigint; mask: bigint } {
    if (typeof value === "object") return { value: BigInt(value.value), mask: BigInt(value.mask) };
    return { value: BigInt(value), mask: (1n << 128n) - 1n };
}

const result = (flow: Flow): string =>
    JSON.stringify([flow.actions, flow.gotoTable ?? null], (_, value: unknown) =>
        typeof value === "bigint" ? value.toString() : value,
    );

describe("the pipeline", () => {
    it("has no two flows with one key", () => {
        fc.assert(
            fc.property(node, (builders) => {
                const owners = new Map<string, string>();
                for (const { name, flows } of builders) {
                    for (const flow of flows) {
                        expect([flowKey(flow), owners.get(flowKey(flow))]).toEqual([flowKey(flow), undefined]);
                        owners.set(flowKey(flow), name);
                    }
                }
            }),
            { numRuns: 60 },
        );
    });

    // OVS does not specify which of two flows of one priority wins.
    it("never leaves it open which flow a packet meets", () => {
        fc.assert(
            fc.property(node, (builders) => {
                const flows = builders.flatMap((builder) => builder.flows);
                for (const [at, a] of flows.entries()) {
                    for (const b of flows.slice(at + 1)) {
                        if (a.table !== b.table || a.priority !== b.priority || !overlap(a.match, b.match)) continue;
                        expect([a.match, result(a)]).toEqual([a.match, result(b)]);
                    }
                }
            }),
            { numRuns: 60 },
        );
    });

    it.each([
        ["with tunnels", [pipelineFlows(exampleTunnelNode()), podFlows(examplePod(1))]],
        [
            "in bridging mode",
            [
                pipelineFlows(exampleBridgingNode()),
                podFlows(examplePod(1)),
                podFlows(exampleBridgedPod(2, 2)),
                vlanFlows(exampleVlan(2, 2)),
                bridgedPeerFlows(exampleBridgedPeer()),
            ],
        ],
    ])("uses named tables only, goes only up, and into tables that have flows: %s", (_name, sets) => {
        const flows = sets.flatMap((set) => set.flows);
        const used = new Set<number>(flows.map((flow) => flow.table));
        for (const flow of flows) {
            expect(Object.values<number>(Table)).toContain(flow.table);
            const recirculated = flow.actions.flatMap((a) =>
                a.type === "ct" && a.table !== undefined ? [a.table] : [],
            );
            for (const next of [flow.gotoTable ?? [], recirculated].flat()) {
                expect(next).toBeGreaterThan(flow.table);
                expect(used).toContain(next);
            }
        }
    });

    it("is the same for the same input: a restart replaces every flow in place", () => {
        const keys = (): string[] => podFlows(examplePod(3)).flows.map(flowKey);
        expect(keys()).toEqual(keys());
    });

    it("has one flow for each podCIDR of a peer, and nothing of tunnels without them", () => {
        expect(tunnelPeerFlows(examplePeer()).flows).toHaveLength(2);
        const keys = (flows: readonly Flow[]): readonly string[] => flows.map(flowKey);
        const without = keys(pipelineFlows(exampleNode()).flows);
        const withTunnel = keys(pipelineFlows(exampleTunnelNode()).flows);
        expect(withTunnel).toEqual(expect.arrayContaining([...without]));
        expect(withTunnel.length - without.length).toBe(7);
    });

    it("builds nothing for a family that a Pod has not", () => {
        const onlyV4 = podFlows(examplePod(1, [4])).flows;
        expect(onlyV4.filter((flow) => flow.match.eth_type === 0x86dd)).toEqual([]);
        const bare = podFlows({ ...examplePod(1), ips: [] as IpAddress[] }).flows;
        expect(bare).toHaveLength(2);
    });
});
