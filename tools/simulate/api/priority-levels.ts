import { readFileSync } from "node:fs";
import { type Random } from "../time/random.ts";

/** A priority level and the users whose requests its flow schema charges to it. */
export interface PriorityLevel {
    readonly name: string;
    readonly users: readonly string[];
    /** How many requests of one seat it carries out at once. */
    readonly seats: number;
    readonly queues: number;
    /** Of how many of the queues one user has the use. */
    readonly handSize: number;
    /** How many requests wait in one queue at most. */
    readonly queueLengthLimit: number;
}

/** How the API server of one cluster is loaded. */
export interface FlowShape {
    readonly levels: readonly PriorityLevel[];
    /** So many times as many objects and watches as there are, as in a larger cluster. */
    readonly scale: number;
}

const template = new URL("../../../charts/antrea/templates/flowcontrol.yaml", import.meta.url);
const levelPattern = /"([\w-]+)" \(list (\d+) (\d+) (\d+) (\d+)((?: "[\w-]+")+)\)/g;
/** Shares of the levels of Kubernetes itself, and what kube-apiserver does at once, by default. */
const otherShares = 245;
const atOnce = 600;

/** The levels of the chart; each line of its template is `"name" (list shares queues handSize queueLengthLimit "account" …)`. */
export function chartLevels(): readonly PriorityLevel[] {
    const found = [...readFileSync(template, "utf8").matchAll(levelPattern)];
    const shares = found.reduce((sum, [, , own]) => sum + Number(own), otherShares);
    return found.map(([, name = "", own, queues, handSize, queueLengthLimit, accounts = ""]) => ({
        name,
        users: [...accounts.matchAll(/[\w-]+/g)].map(([account]) => `system:serviceaccount:kube-system:${account}`),
        seats: Math.ceil((atOnce * Number(own)) / shares),
        queues: Number(queues),
        handSize: Number(handSize),
        queueLengthLimit: Number(queueLengthLimit),
    }));
}

/** The chart's levels on an API server that has few seats for them, or short queues, as chance will have it. */
export function shapeByChance(random: Random): FlowShape {
    const levels = chartLevels().map((level) => ({
        ...level,
        seats: random.pick([1, 2, 3, 8, level.seats]) ?? 1,
        queueLengthLimit: random.pick([3, 10, level.queueLengthLimit]) ?? 3,
    }));
    return { levels, scale: random.pick([1, 10, 100]) ?? 1 };
}
