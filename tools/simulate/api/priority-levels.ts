import { readFileSync } from "node:fs";
import { type Random } from "../time/random.ts";

/** A priority level and the users whose requests its flow schema assigns to it. */
export interface PriorityLevel {
    readonly name: string;
    readonly users: readonly string[];
    /** Concurrent requests with one seat. */
    readonly seats: number;
    readonly queues: number;
    /** Number of queues that one user's requests are distributed to. */
    readonly handSize: number;
    /** Maximum number of requests in one queue. */
    readonly queueLengthLimit: number;
}

/** The load of the API server of one cluster. */
export interface FlowShape {
    readonly levels: readonly PriorityLevel[];
    /** Factor on the numbers of objects and watches, as in a larger cluster. */
    readonly scale: number;
}

const template = new URL("../../../charts/antrea/templates/flowcontrol.yaml", import.meta.url);
const levelPattern = /"([\w-]+)" \(list (\d+) (\d+) (\d+) (\d+)((?: "[\w-]+")+)\)/g;
/** Shares of Kubernetes' own levels, and the default concurrency of kube-apiserver. */
const otherShares = 245;
const atOnce = 600;

/**
 * The chart's levels; each line of its template is
 * `"name" (list shares queues handSize queueLengthLimit "account" …)`.
 */
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

/** The chart's levels on an API server with, at random, few seats or short queues. */
export function shapeByChance(random: Random): FlowShape {
    const levels = chartLevels().map((level) => ({
        ...level,
        seats: random.pick([1, 2, 3, 8, level.seats]) ?? 1,
        queueLengthLimit: random.pick([3, 10, level.queueLengthLimit]) ?? 3,
    }));
    return { levels, scale: random.pick([1, 10, 100]) ?? 1 };
}
