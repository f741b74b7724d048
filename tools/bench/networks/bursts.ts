import { execFileSync } from "node:child_process";
import { agentKubeconfig } from "@antrea/chart/testing/chart-server";
import { listPoolDefinition, listPoolRights, listPools } from "../allocations/list-agent.ts";
import { BenchError } from "../error.ts";
import { Helper } from "../helper.ts";
import { type AllocationWatch } from "./allocation-watch.ts";
import { type ListAllocations, type ListAllocationsInput } from "./list-allocations.ts";
import { type NetworksStage } from "./stage.ts";
import { atOnce, attach, bridgeName, byBridges, detach, metaPluginIn, oneByOne, type Step } from "./ways.ts";

const allocationLimitMs = 60_000;
const detachTries = 5;
const pollMs = 5;

/** Pods that were attached at the same moment, one process of a plugin for each call. */
export interface Burst {
    /** Pods of which every call succeeded. */
    readonly succeeded: number;
    /** The text of one failure; "" without one. */
    readonly failure: string;
    /** Until the last answer. */
    readonly seconds: number;
    /** Allocations that were made, and the seconds until the last one was seen by a watch. */
    readonly allocations: number;
    readonly allocationSeconds: number;
    /** Ports of Pods on the bridge of networks after it. */
    readonly ports: number;
    /** The DELs, until the last answer. */
    readonly delSeconds: number;
}

/** How the networks of all Pods are attached: by the agent in one call, by it in a call each, or by `bridge`. */
export const ways = ["at-once", "one-by-one", "bridges"] as const;
export type Way = (typeof ways)[number];

/** Attaches so many Pods at once, and detaches them. Resolves when nothing of them is left. */
export async function burst(stage: NetworksStage, watch: AllocationWatch, way: Way, pods: number): Promise<Burst> {
    const { environment, namespaces, networks, node } = stage;
    const names = Array.from({ length: pods }, (_, index) => `pod-${index}`);
    const paths = namespaces.add(...names);
    const calls = await stage.createPods(paths, networks.length);
    const steps = stepsOf(stage, way);
    using _meta = way === "one-by-one" ? metaPluginIn(node.confFolder) : undefined;
    const before = watch.count;
    const begin = performance.now();
    const outcomes = await Promise.allSettled(calls.map((call) => attach(steps, call, environment)));
    const seconds = (performance.now() - begin) / 1000;
    const failed = outcomes.find((outcome) => outcome.status === "rejected");
    const succeeded = outcomes.filter(({ status }) => status === "fulfilled").length;
    if (way !== "bridges" && failed === undefined) await untilAllocated(watch, before + pods * networks.length);
    const allocations = watch.count - before;
    const allocationSeconds = (watch.lastAt - begin) / 1000;
    const ports = await stage.podPorts();
    const delBegin = performance.now();
    await Promise.all(calls.map((call) => untilDetached(() => detach(steps, call, environment))));
    const delSeconds = (performance.now() - delBegin) / 1000;
    await stage.deletePods(calls);
    await stage.settle();
    await namespaces.delete(...names);
    if (way === "bridges") removeBridges(networks.length);
    await stage.settle();
    const failure = failed === undefined ? "" : String(failed.reason).replaceAll("|", "/").slice(0, 300);
    return { succeeded, failure, seconds, allocations, allocationSeconds, ports, delSeconds };
}

/** Repeats a DEL that fails, as a container runtime does. */
async function untilDetached(work: () => Promise<void>): Promise<void> {
    for (let left = detachTries; ; left -= 1) {
        try {
            return await work();
        } catch (error) {
            if (left === 1) throw error;
        }
    }
}

function stepsOf({ networks }: NetworksStage, way: Way): readonly Step[] {
    if (way === "at-once") return atOnce;
    return way === "one-by-one" ? oneByOne(networks) : byBridges(networks.length);
}

/** What the answers promise may be shown a moment later. */
async function untilAllocated(watch: AllocationWatch, count: number): Promise<void> {
    const end = performance.now() + allocationLimitMs;
    while (watch.count < count) {
        if (performance.now() > end) {
            const what = `${watch.count} allocations in place of ${count} are shown after all ADDs`;
            throw new BenchError("WRONG_RESULT", "internal", what);
        }
        await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
}

function removeBridges(networks: number): void {
    const commands = Array.from({ length: networks + 1 }, (_, at) => `link delete ${bridgeName(at)}`);
    execFileSync("ip", ["-batch", "-"], { input: commands.join("\n") });
}

/**
 * Links and ports of so many Pods, each with eth0 and so many networks, by a straight-line program, in ms; nothing of them
 * is left.
 */
export async function floorMs({ floor, namespaces }: NetworksStage, pods: number, networks: number): Promise<number> {
    const names = Array.from({ length: pods }, (_, index) => `pod-${index}`);
    const netns = namespaces.add(...names);
    const ms = await floor.ask<number>("links", { netns, count: networks + 1 });
    await floor.ask("unlink");
    await floor.ask("settle");
    await namespaces.delete(...names);
    await floor.ask("settle");
    return ms;
}

/** The lists of the design with one object per pool, and the process that claims in them. */
export class ListClaimant implements AsyncDisposable {
    readonly #stage: NetworksStage;
    readonly #helper = new Helper("networks/list-allocations.ts");
    readonly #kubeconfig: string;
    #rounds = 0;

    private constructor(stage: NetworksStage, kubeconfig: string) {
        this.#stage = stage;
        this.#kubeconfig = kubeconfig;
    }

    static async open(stage: NetworksStage): Promise<ListClaimant> {
        await stage.server.apply([listPoolDefinition, ...listPoolRights]);
        return new ListClaimant(stage, await agentKubeconfig(stage.server, "networks-list"));
    }

    /** Claims an address of each pool for so many Pods, in empty lists. */
    async burst(pods: number): Promise<ListAllocations> {
        const round = this.#rounds++;
        const pools = this.#stage.networks.map(({ name }) => `${name}-${round}`);
        for (const name of pools)
            await this.#stage.node.api.create(listPools, { metadata: { name }, spec: { size: 1_022 } });
        const input: ListAllocationsInput = { kubeconfig: this.#kubeconfig, pools, pods, round };
        return this.#helper.ask<ListAllocations>("claimAll", input);
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#helper[Symbol.asyncDispose]();
    }
}
