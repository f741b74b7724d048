import { ipAllocations } from "@antrea/crd";
import { type IpAddress } from "@antrea/ip";
import { Netlink } from "@antrea/netlink";
import { allocationOf, podOf } from "../allocations/simulated-agent.ts";
import { podCall, timed } from "../cni-client.ts";
import { placeOf, underlay } from "../data-plane/load-node.ts";
import { BenchError } from "../error.ts";
import { Helper } from "../helper.ts";
import { PodNamespaces } from "../pod-namespaces.ts";
import { rotated } from "../statistics.ts";
import { untagged, type BridgingStage } from "./stage.ts";

const warmUp = 10;
const firstPod = 10_000;
// 240.0.0.0/4: outside every pool.
const firstAddress = 0xf000_0000n;

const kinds = ["subnet", "bridged"] as const;
type Kind = (typeof kinds)[number];
type Times = Readonly<Record<Kind, number[]>>;

/** Milliseconds of each call; equal indexes were measured together. */
export interface AddTimes {
    readonly add: Times;
    readonly del: Times;
    /** Creates of an IPAllocation alone; the ADD of a bridged Pod contains one. */
    readonly allocation: readonly number[];
}

/** ADDs and DELs of bridged Pods and of subnet Pods, alternating, on the first Node. */
export async function measureAdds({ nodes, api }: BridgingStage, counted: number): Promise<AddTimes> {
    const [node] = nodes;
    await using floor = new Helper("floor.ts");
    await floor.ask("open", { socketPath: node.ovs.dbSocket });
    using namespaces = new PodNamespaces();
    const names = kinds.map((kind) => `add-${kind}`);
    const paths = namespaces.add(...names);
    const [add, del]: readonly [Times, Times] = [
        { subnet: [], bridged: [] },
        { subnet: [], bridged: [] },
    ];
    const allocation: number[] = [];
    for (let index = 0; index < warmUp + counted; index++) {
        const keep = (times: number[], ms: number): void => void (index >= warmUp && times.push(ms));
        const pods = await Promise.all(
            kinds.map(async (kind, at) => {
                const id = firstPod + kinds.length * index + at;
                const uid = await node.createPod(id, kind === "bridged" ? untagged : {});
                return { kind, call: podCall(id, paths[at] ?? "", uid) };
            }),
        );
        for (const pod of rotated([...pods, "allocation"] as const, index)) {
            if (pod === "allocation") {
                keep(allocation, await timed(() => api.create(ipAllocations, bareAllocation(index))));
                continue;
            }
            let answer = "";
            keep(add[pod.kind], await timed(async () => (answer = await node.cni.call("CmdAdd", pod.call))));
            refuseOther(pod.kind, answer);
            await floor.ask("settle");
        }
        for (const { kind, call } of rotated(pods, index)) {
            keep(del[kind], await timed(() => node.cni.call("CmdDel", call)));
            await floor.ask("settle");
        }
        for (const path of paths) await clear(path);
        await floor.ask("settle");
    }
    await namespaces.delete(...names);
    return { add, del, allocation };
}

function bareAllocation(index: number): ReturnType<typeof allocationOf> {
    const ip: IpAddress = { family: 4, value: firstAddress + BigInt(index) };
    return allocationOf(ip, "bench", "bench-node-none", podOf({ agent: 0, round: 0 }, index));
}

/** Removes a Pod's link and keeps its namespace. */
async function clear(netnsPath: string): Promise<void> {
    using netlink = Netlink.openIn(netnsPath);
    const link = await netlink.link("eth0");
    if (link !== undefined) await netlink.deleteLink(link.index);
}

/** Rejects if the Pod gets an address of another kind, which would invalidate the measurement. */
function refuseOther(kind: Kind, answer: string): void {
    const { ips } = JSON.parse(answer) as { readonly ips: readonly { readonly address: string }[] };
    const prefix = kind === "bridged" ? `${underlay.base}.` : placeOf(0).podCidr.replace(/0\/24$/, "");
    if (ips.length === 1 && ips[0]?.address.startsWith(prefix) === true) return;
    const got = ips.map(({ address }) => address).join(" and ");
    throw new BenchError("WRONG_RESULT", "internal", `a Pod that should be of kind "${kind}" got ${got}`);
}
