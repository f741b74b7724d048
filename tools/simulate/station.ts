import { type Line } from "./api/line.ts";
import { type Agent } from "./cluster/agent.ts";
import { type Kubelet } from "./cluster/kubelet.ts";
import { type Machine } from "./machine/machine.ts";

/** One Node with what runs on it. */
export interface Station {
    readonly machine: Machine;
    readonly kubelet: Kubelet;
    agent: Agent | undefined;
    agentLine: Line | undefined;
    kubeletLine: Line;
    isCut: boolean;
    /** Since when its agent, if it runs, does so and has a connection, if it is not cut off. */
    reachableSince: number;
    /** How far its wall clock is off. */
    skewMs: number;
    /** It will not come back. */
    isLost: boolean;
    /** Somebody deleted its Node while the machine runs. */
    isForgotten: boolean;
    /** The API server refuses the token of its agent. */
    isRefused: boolean;
    /** Its kubelet has no connection, also when its agent has one. */
    isKubeletCut: boolean;
    /** Until then it stays as it is, also when all else is to come to rest. */
    heldUntil: number;
}

/** One replica of a program of the cluster. */
export interface Replica<T> {
    readonly name: string;
    process: T | undefined;
    line: Line | undefined;
    skewMs: number;
    startedAt: number;
}
