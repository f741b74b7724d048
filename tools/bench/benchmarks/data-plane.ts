import { execFileSync } from "node:child_process";
import { type Mode } from "../data-plane/load-node.ts";
import { LoadPod, loads, type Load } from "../data-plane/load-pod.ts";
import { sides, Stage, type Reach, type Side } from "../data-plane/stage.ts";
import { PodNamespaces } from "../pod-namespaces.ts";
import { comparison, typical, type Result } from "../result.ts";
import { rotated } from "../statistics.ts";

const rounds = 10;
const generatorRuns = 3;

const unitOf: Readonly<Record<Load, string>> = { throughput: "Mbit/s", requests: "/s", connections: "/s" };
const titleOf: Readonly<Record<Load, string>> = {
    throughput: "TCP throughput",
    requests: "TCP requests and answers",
    connections: "TCP connections",
};

interface Way {
    readonly id: string;
    readonly title: string;
    readonly reach: Reach;
}

type Measured = Exclude<Mode, "bridging" | "networks">;

const ways: Readonly<Record<Measured, readonly Way[]>> = {
    noEncap: [
        { id: "same", title: "same Node", reach: "same" },
        { id: "noencap", title: "across Nodes, noEncap", reach: "across" },
    ],
    encap: [{ id: "geneve", title: "across Nodes, geneve", reach: "across" }],
};

/** Traffic between Pods through the agent's pipeline, against a plain bridge and one with as many conntrack lookups. */
export async function dataPlane(): Promise<readonly Result[]> {
    return [...(await inMode("noEncap")), ...(await inMode("encap")), ...(await generator())];
}

async function inMode(mode: Measured): Promise<readonly Result[]> {
    await using stage = await Stage.start(mode);
    const figures = new Map<string, number[]>();
    const of = (way: Way, load: Load, side: Side): number[] => figures.get(`${way.id} ${load} ${side}`) ?? [];
    for (let round = 0; round < rounds; round++) {
        for (const way of ways[mode]) {
            for (const load of loads) {
                for (const side of rotated(sides, round)) {
                    const [from, to] = await stage.pair(side, way.reach);
                    const value = await from.measure(load, to);
                    figures.set(`${way.id} ${load} ${side}`, [...of(way, load, side), value]);
                }
            }
        }
    }
    return ways[mode].flatMap((way) =>
        loads.flatMap((load) => {
            const against = (side: "plain" | "ct", peer: string, minRatio: number): Result =>
                comparison({
                    id: `data-plane-${way.id}-${load}-${side}`,
                    what: `${titleOf[load]}, ${way.title}`,
                    peer,
                    unit: unitOf[load],
                    minRatio,
                    pairs: { ours: of(way, load, "ours"), peer: of(way, load, side) },
                });
            return [
                against("plain", "a plain bridge with ports of the same numbers", 0.7),
                against("ct", "the plain bridge with as many ct() passes", 0.9),
            ];
        }),
    );
}

/** The load generator without a switch: a veth pair between two network namespaces. */
async function generator(): Promise<readonly Result[]> {
    using namespaces = new PodNamespaces();
    const names = ["generator-0", "generator-1"] as const;
    const [one = "", other = ""] = namespaces.add(...names);
    const samples = new Map<Load, number[]>(loads.map((load) => [load, []]));
    {
        ip(`link add eth0 netns ${names[0]} type veth peer name eth0 netns ${names[1]}`);
        for (const [at, name] of names.entries()) {
            ip(`-n ${name} address add 10.97.0.${at + 1}/24 dev eth0`);
            ip(`-n ${name} link set eth0 up`);
        }
        await using from = await LoadPod.start(one, "10.97.0.1");
        await using to = await LoadPod.start(other, "10.97.0.2");
        await from.reaches(to);
        for (let run = 0; run < generatorRuns; run++) {
            for (const load of loads) samples.get(load)?.push(await from.measure(load, to));
        }
    }
    await namespaces.delete(...names);
    return loads.map((load) =>
        typical({
            id: `data-plane-generator-${load}`,
            what: `${titleOf[load]} over a veth pair, without a switch`,
            samples: samples.get(load) ?? [],
            unit: unitOf[load],
        }),
    );
}

function ip(command: string): void {
    execFileSync("ip", command.split(" "));
}
