import { ipPools, poolsAnnotation } from "@antrea/crd";
import { allocationsOfPods } from "../allocations-of-pods.ts";
import { podCall, timed, antreaConfig } from "../cni-client.ts";
import { BenchError } from "../error.ts";
import { Helper } from "../helper.ts";
import { NodeUnderTest } from "../node-under-test.ts";
import { shimPath } from "../paths.ts";
import { pluginEnvironment, startPlugin } from "../plugin.ts";
import { PodNamespaces } from "../pod-namespaces.ts";
import { comparison, compared, fact, type Result } from "../result.ts";
import { type Pairs } from "../statistics.ts";

const counted = 100;
const warmUp = 10;
const burstCount = 110;
const maxBurstSeconds = 5;

/** The source of Pod addresses: the Node's subnets, an IPv4 pool, or a pool of each family. */
const kinds = ["subnet", "pool", "dual"] as const;
type Kind = (typeof kinds)[number];
const annotationsOf: Readonly<Record<Kind, Readonly<Record<string, string>>>> = {
    subnet: {},
    pool: { [poolsAnnotation]: "pool4" },
    dual: { [poolsAnnotation]: "pool4,pool6" },
};

/** ADD and DEL of Pods with IPPool addresses against Pods of the Node's subnets, on one agent. */
export async function poolAdd(): Promise<readonly Result[]> {
    await using node = await NodeUnderTest.start({ pools: true });
    await node.createPodNamespace();
    const gateways = { pool4: "10.70.255.254", pool6: "fd00:70::ffff" };
    const cidrs = { pool4: "10.70.0.0/18", pool6: "fd00:70::/114" };
    for (const [name, version, length] of [
        ["pool4", 4, 16],
        ["pool6", 6, 64],
    ] as const) {
        const range = { cidr: cidrs[name], gateway: gateways[name], prefixLength: length };
        await node.api.create(ipPools, { metadata: { name }, spec: { ipVersion: version, ipRanges: [range] } });
    }
    using namespaces = new PodNamespaces();
    await using floor = new Helper("floor.ts");
    await floor.ask("open", { socketPath: node.ovs.dbSocket });
    const calls = await idleCalls(node, floor, namespaces);
    await floor.ask("settle");
    return [...calls, ...(await burstThroughShim(node, namespaces))];
}

async function idleCalls(node: NodeUnderTest, floor: Helper, namespaces: PodNamespaces): Promise<readonly Result[]> {
    const empty = (): Record<Kind, number[]> => ({ subnet: [], pool: [], dual: [] });
    const [add, del] = [empty(), empty()];
    const total = warmUp + counted;
    const uids = new Map<Kind, readonly string[]>();
    for (const [at, kind] of kinds.entries()) {
        const names = Array.from({ length: total }, (_, index) => `bench-${idOf(at, index)}`);
        uids.set(kind, await node.createPods(names, annotationsOf[kind]));
    }
    const paths = namespaces.add(...kinds);
    for (let index = 0; index < total; index++) {
        const inOrder = [...kinds.entries()];
        const order = index % 2 === 0 ? inOrder : inOrder.toReversed();
        for (const [command, times] of [
            ["CmdAdd", add],
            ["CmdDel", del],
        ] as const) {
            for (const [at, kind] of order) {
                const call = podCall(idOf(at, index), paths[at] ?? "", uids.get(kind)?.[index] ?? "");
                let answer = "";
                const ms = await timed(async () => (answer = await node.cni.call(command, call)));
                if (command === "CmdAdd") refuseOthers(kind, answer);
                await floor.ask("settle");
                if (index >= warmUp) times[kind].push(ms);
            }
        }
        await namespaces.clear();
        await floor.ask("settle");
    }
    await namespaces.delete(...kinds);
    const peer = "the same of a Pod of the Node's subnets, dual stack";
    const against = (times: typeof add, kind: Kind): { readonly peer: string; readonly pairs: Pairs } => ({
        peer,
        pairs: { ours: times[kind], peer: times.subnet },
    });
    return [
        comparison({ id: "pool-add-p50", what: "agent ADD, IPv4 pool, p50", ...against(add, "pool"), maxRatio: 1.3 }),
        comparison({ id: "pool-add-p99", what: "agent ADD, IPv4 pool, p99", ...against(add, "pool"), share: 0.99 }),
        comparison({
            id: "pool-add-dual-p50",
            what: "agent ADD, IPv4 and IPv6 pool, p50",
            ...against(add, "dual"),
            maxRatio: 1.3,
        }),
        comparison({
            id: "pool-add-dual-p99",
            what: "agent ADD, IPv4 and IPv6 pool, p99",
            ...against(add, "dual"),
            share: 0.99,
        }),
        comparison({ id: "pool-del-p50", what: "agent DEL, IPv4 pool, p50", ...against(del, "pool") }),
        comparison({ id: "pool-del-dual-p50", what: "agent DEL, IPv4 and IPv6 pool, p50", ...against(del, "dual") }),
    ];
}

/** As many Pods as may start on a Node at once: one shim process each. */
async function burstThroughShim(node: NodeUnderTest, namespaces: PodNamespaces): Promise<readonly Result[]> {
    const names = Array.from({ length: burstCount }, (_, index) => `burst-${index}`);
    const paths = namespaces.add(...names);
    const burst = async (
        kind: "pool" | "subnet",
        first: number,
    ): Promise<{ ok: number; addresses: number; seconds: number; failure: string }> => {
        const ids = names.map((_, index) => first + index);
        const uids = await node.createPods(
            ids.map((id) => `bench-${id}`),
            annotationsOf[kind],
        );
        const run = (command: "ADD" | "DEL", index: number): Promise<string> => {
            const call = podCall(ids[index] ?? 0, paths[index] ?? "", uids[index] ?? "");
            const environment = { ...pluginEnvironment(command, call), ANTREA_CNI_SOCKET: node.cniSocket };
            return startPlugin(shimPath, environment, antreaConfig);
        };
        const begin = performance.now();
        const outcomes = await Promise.allSettled(names.map((_, index) => run("ADD", index)));
        const seconds = (performance.now() - begin) / 1000;
        await Promise.all(names.map((_, index) => run("DEL", index)));
        const answers = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
        const failed = outcomes.find((outcome) => outcome.status === "rejected");
        return {
            ok: answers.length,
            addresses: new Set(answers.flatMap(addressesOf)).size,
            seconds,
            failure: failed === undefined ? "" : ` (${String(failed.reason).slice(0, 200)})`,
        };
    };
    const pool = await burst("pool", 20_000);
    await namespaces.clear();
    const subnet = await burst("subnet", 21_000);
    await namespaces.delete(...names);
    const left = (await allocationsOfPods(node.api)).length;
    const peer = { what: "the same of Pods of the Node's subnets", value: subnet.seconds };
    return [
        {
            ...compared({
                id: "pool-burst-time",
                what: `${burstCount} ADDs at once through antrea-cni, IPv4 pool`,
                value: pool.seconds,
                unit: "s",
                peer,
            }),
            goal: `≤ ${maxBurstSeconds} s`,
            holds: pool.seconds <= maxBurstSeconds,
        },
        fact({
            id: "pool-burst-success",
            what: `of these, ADDs that succeeded with an address of their own${pool.failure}`,
            value: Math.min(pool.ok, pool.addresses),
            unit: "ADDs",
            goal: "all",
            holds: pool.ok === burstCount && pool.addresses === burstCount,
        }),
        fact({
            id: "pool-burst-left",
            what: "allocations left after their DELs",
            value: left,
            unit: "allocations",
            goal: "none",
            holds: left === 0,
        }),
    ];
}

const prefixesOf: Readonly<Record<Kind, readonly string[]>> = {
    subnet: ["10.10.0.", "fd00:10:0:1:"],
    pool: ["10.70."],
    dual: ["10.70.", "fd00:70::"],
};

/** Rejects if the Pods get addresses of another kind, which would invalidate the measurement. */
function refuseOthers(kind: Kind, answer: string): void {
    const [addresses, prefixes] = [addressesOf(answer), prefixesOf[kind]];
    const fits = addresses.every((address, at) => address.startsWith(prefixes[at] ?? "none"));
    if (fits && addresses.length === prefixes.length) return;
    throw new BenchError("WRONG_RESULT", "internal", `a Pod of kind "${kind}" got ${addresses.join(" and ")}`);
}

function idOf(kind: number, index: number): number {
    return 10_000 + kind * 1_000 + index;
}

function addressesOf(answer: string): readonly string[] {
    const { ips } = JSON.parse(answer) as { readonly ips?: readonly { readonly address: string }[] };
    return (ips ?? []).map(({ address }) => address);
}
