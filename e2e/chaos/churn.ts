import { randomInt } from "node:crypto";
import { apply, kubectl, workers } from "../fixture/cluster.ts";
import { poolManifest, poolsKey } from "../fixture/ipam.ts";
import { requesting } from "../fixture/networks.ts";
import { manifest } from "../fixture/pods.ts";
import { addSteadyService } from "../fixture/services.ts";
import { deployment, statefulSet } from "../fixture/workloads.ts";
import { type Stage } from "./stage.ts";

/** As many Pods, and as many Services, come and go at once. */
const mostPods = 24;
const mostServices = 8;

interface Passing {
    readonly number: number;
    readonly pool: string;
    readonly pod: string;
}

function pick<T>(all: readonly T[]): T {
    return all[randomInt(all.length)] as T;
}

/**
 * What users do, at random: Pods, StatefulSets, Deployments and pools come, change and go, and Services where there are clients of
 * them. What the API server refuses, or does not answer, is counted and done later or never.
 */
export class Churn {
    readonly done = new Map<string, number>();
    readonly refused = new Map<string, number>();
    readonly #stage: Stage;
    readonly #pods = new Set<string>();
    /** Replicas of each, as wanted last. */
    readonly #sets = new Map<string, number>();
    readonly #deployments = new Map<string, number>();
    readonly #services = new Set<string>();
    #passing: Passing | undefined;
    #number = 0;
    /** Is called with the replicas of a set that are wanted from now on, before they are requested. */
    readonly #scaled: (set: string, replicas: number) => void;

    constructor(stage: Stage, scaled: (set: string, replicas: number) => void) {
        this.#stage = stage;
        this.#scaled = scaled;
    }

    /** Does one thing; never rejects. */
    async step(): Promise<void> {
        const [name, action] = this.#choose();
        const count = (to: Map<string, number>, key: string): void => void to.set(key, (to.get(key) ?? 0) + 1);
        try {
            await action();
            count(this.done, name);
        } catch (error) {
            count(this.refused, `${name}: ${reasonIn(error)}`);
        }
    }

    /** Deletes all that it made. */
    async end(): Promise<void> {
        const inside = ["-n", this.#stage.namespace.name, "delete", "--ignore-not-found", "--wait=false"];
        for (const kind of ["statefulset", "deployment"]) await kubectl([...inside, kind, "--all"]);
        await kubectl([...inside, "pod", "--selector", "chaos", "--grace-period=1"]);
        for (const set of this.#sets.keys()) this.#scaled(set, 0);
    }

    /** Services that it made and did not delete; the API server may not have all of them. */
    get services(): ReadonlySet<string> {
        return this.#services;
    }

    /** The pool that comes and goes, if there is one. */
    get passingPool(): string | undefined {
        return this.#passing?.pool;
    }

    #choose(): readonly [string, () => Promise<unknown>] {
        const used = this.#pods.size + sum(this.#sets) + sum(this.#deployments) + (this.#passing === undefined ? 0 : 1);
        const room = mostPods - used;
        const choices: (readonly [string, () => Promise<unknown>])[] = [];
        if (room >= 2)
            choices.push(["create Pods", () => this.#createPods(room)], ["create Pods", () => this.#createPods(room)]);
        if (room >= 3 && this.#sets.size < 3) choices.push(["create StatefulSet", () => this.#createSet()]);
        if (room >= 3 && this.#deployments.size < 1)
            choices.push(["create Deployment", () => this.#createDeployment()]);
        if (this.#pods.size > 0)
            choices.push(["delete Pods", () => this.#deletePods()], ["delete Pods", () => this.#deletePods()]);
        if (this.#sets.size > 0) {
            choices.push(
                ["scale StatefulSet", () => this.#scaleSet(room)],
                ["delete Pod of a set", () => this.#deleteOrdinal()],
            );
            if (this.#sets.size > 2) choices.push(["delete StatefulSet", () => this.#deleteSet()]);
        }
        if (this.#deployments.size > 0) choices.push(["scale Deployment", () => this.#scaleDeployment(room)]);
        if (this.#passing !== undefined) {
            choices.push(["grow pool", () => this.#growPool()], ["end pool", () => this.#endPool()]);
        } else if (room >= 1) choices.push(["create pool", () => this.#createPool()]);
        if (this.#stage.clients !== undefined) {
            if (this.#services.size < mostServices) choices.push(["create Service", () => this.#createService()]);
            if (this.#services.size > 0) choices.push(["delete Service", () => this.#deleteService()]);
        }
        return pick(choices);
    }

    #name(kind: string): string {
        this.#number += 1;
        return `${kind}-${this.#number}`;
    }

    async #createPods(room: number): Promise<void> {
        const names = Array.from({ length: Math.min(room, 1 + randomInt(3)) }, () => this.#name("pod"));
        for (const name of names) this.#pods.add(name);
        await apply(
            names.map((name) => {
                const pools = randomInt(3) === 0 ? undefined : pick(this.#stage.choices);
                const annotations = {
                    ...(pools === undefined ? {} : { [poolsKey]: pools }),
                    ...(randomInt(2) === 0 ? {} : this.#networks()),
                };
                const node = pick(workers);
                return manifest(this.#stage.namespace.name, { name, node, labels: { chaos: "pod" }, annotations });
            }),
        );
    }

    async #deletePods(): Promise<void> {
        const names = [...this.#pods].slice(0, 1 + randomInt(3));
        await this.#kubectl(["delete", "pod", "--ignore-not-found", "--wait=false", "--grace-period=1", ...names]);
        for (const name of names) this.#pods.delete(name);
    }

    async #createSet(): Promise<void> {
        const [name, replicas] = [this.#name("set"), 1 + randomInt(3)];
        this.#scaled(name, replicas);
        const annotations = { [poolsKey]: pick(this.#stage.choices), ...this.#networks() };
        await apply([statefulSet(this.#stage.namespace.name, { name, replicas, annotations })]);
        this.#sets.set(name, replicas);
    }

    async #scaleSet(room: number): Promise<void> {
        const set = pick([...this.#sets.keys()]);
        const replicas = randomInt(Math.min(5, (this.#sets.get(set) ?? 0) + Math.max(0, room)) + 1);
        this.#sets.set(set, Math.max(replicas, 1));
        this.#scaled(set, replicas);
        await this.#kubectl(["scale", `statefulset/${set}`, `--replicas=${replicas}`]);
        this.#sets.set(set, replicas);
    }

    async #deleteOrdinal(): Promise<void> {
        const set = pick([...this.#sets.keys()]);
        const ordinal = randomInt(Math.max(1, this.#sets.get(set) ?? 1));
        await this.#kubectl(["delete", "pod", "--ignore-not-found", "--wait=false", `${set}-${ordinal}`]);
    }

    async #deleteSet(): Promise<void> {
        const set = pick([...this.#sets.keys()]);
        this.#scaled(set, 0);
        await this.#kubectl(["delete", "statefulset", "--ignore-not-found", "--wait=false", set]);
        this.#sets.delete(set);
    }

    async #createDeployment(): Promise<void> {
        const name = this.#name("deployment");
        const annotations = { [poolsKey]: pick(this.#stage.choices), ...this.#networks() };
        await apply([deployment(this.#stage.namespace.name, { name, replicas: 2, annotations })]);
        this.#deployments.set(name, 2);
    }

    async #scaleDeployment(room: number): Promise<void> {
        const name = pick([...this.#deployments.keys()]);
        const replicas = randomInt(Math.min(4, (this.#deployments.get(name) ?? 0) + Math.max(0, room)) + 1);
        await this.#kubectl(["scale", `deployment/${name}`, `--replicas=${replicas}`]);
        this.#deployments.set(name, replicas);
    }

    async #createService(): Promise<void> {
        const name = this.#name("service");
        this.#services.add(name);
        await addSteadyService(this.#stage.namespace, name, { both: "yes" });
    }

    async #deleteService(): Promise<void> {
        const name = pick([...this.#services]);
        await this.#kubectl(["delete", "service", "--ignore-not-found", name]);
        this.#services.delete(name);
    }

    async #createPool(): Promise<void> {
        const number = (this.#number += 1);
        const [pool, pod] = [`chaos-passing-${number}`, `passing-${number}`];
        this.#passing = { number, pool, pod };
        await apply([poolManifest(pool, this.#stage.passingRange(number, 0))]);
        const spec = { name: pod, node: pick(workers), labels: { chaos: "pod" }, annotations: { [poolsKey]: pool } };
        await apply([manifest(this.#stage.namespace.name, spec)]);
    }

    async #growPool(): Promise<void> {
        const { pool, number } = this.#passing ?? { pool: "", number: 0 };
        const ranges = [this.#stage.passingRange(number, 0), this.#stage.passingRange(number, 1)];
        await apply([poolManifest(pool, ...ranges)]);
    }

    /** Its Pod goes; the pool only once nothing holds an address of it, until then the webhook refuses. */
    async #endPool(): Promise<void> {
        const { pool, pod } = this.#passing ?? { pool: "", pod: "" };
        await this.#kubectl(["delete", "pod", "--ignore-not-found", "--wait=false", "--grace-period=1", pod]);
        await this.#kubectl(["delete", "ippool", "--ignore-not-found", "--wait=false", pool]);
        this.#passing = undefined;
    }

    #networks(): Readonly<Record<string, string>> {
        const { networks } = this.#stage;
        return networks === undefined ? {} : requesting(networks);
    }

    #kubectl(args: readonly string[]): Promise<string> {
        return kubectl(["-n", this.#stage.namespace.name, "--request-timeout=10s", ...args], { timeoutMs: 20_000 });
    }
}

function sum(replicas: ReadonlyMap<string, number>): number {
    return [...replicas.values()].reduce((one, other) => one + other, 0);
}

/** The last line of what kubectl prints, without names that differ each time. */
function reasonIn(error: unknown): string {
    const text = error instanceof Error ? error.message : String(error);
    return (text.trim().split("\n").at(-1) ?? "").replaceAll(/[\w.-]*\d[\w.:-]*/g, "…").slice(0, 160);
}
