import { loads, type Load } from "../data-plane/load-pod.ts";
import { sides, VlanStage, type Side } from "../networks/vlan-stage.ts";
import { comparison, type Result } from "../result.ts";
import { rotated } from "../statistics.ts";

const rounds = 20;
const runMs = 300;
const minRatio = 0.95;

const unitOf: Readonly<Record<Load, string>> = { throughput: "Mbit/s", requests: "/s", connections: "/s" };
const titleOf: Readonly<Record<Load, string>> = {
    throughput: "TCP throughput",
    requests: "TCP requests and answers",
    connections: "TCP connections",
};

/** Traffic between Pods of a VLAN network on two Nodes, against a plain switch with access ports. */
export async function networksTraffic(): Promise<readonly Result[]> {
    await using stage = await VlanStage.start();
    const figures = new Map<string, number[]>();
    const of = (load: Load, side: Side): number[] => figures.get(`${load} ${side}`) ?? [];
    for (let round = 0; round < rounds; round++) {
        for (const load of loads) {
            for (const side of rotated(sides, round)) {
                const [from, to] = stage.pair(side);
                figures.set(`${load} ${side}`, [...of(load, side), await from.measure(load, to, runMs)]);
            }
        }
    }
    return loads.map((load) =>
        comparison({
            id: `networks-traffic-${load}`,
            what: `${titleOf[load]}, Pods of a VLAN across Nodes`,
            peer: "a plain bridge of Open vSwitch with access ports and a trunk",
            unit: unitOf[load],
            pairs: { ours: of(load, "ours"), peer: of(load, "plain") },
            minRatio,
        }),
    );
}
