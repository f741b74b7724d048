import { type Transport } from "./api/transport.ts";
import { type Agent } from "./cluster/agent.ts";
import { type Kubelet } from "./cluster/kubelet.ts";
import { type Machine } from "./machine/machine.ts";

/** One Node with its processes. */
export interface Station {
    readonly machine: Machine;
    readonly kubelet: Kubelet;
    agent: Agent | undefined;
    agentTransport: Transport | undefined;
    kubeletTransport: Transport;
    isCut: boolean;
    /** Since when its agent has been running and connected. */
    reachableSince: number;
    /** Offset of its wall clock. */
    skewMs: number;
    /** It will not return. */
    isLost: boolean;
    /** Its Node object was deleted while the machine runs. */
    isForgotten: boolean;
    /** The API server rejects the token of its agent. */
    isRefused: boolean;
    /** Its kubelet has no connection, even if its agent has one. */
    isKubeletCut: boolean;
    /** Until then it stays in its state, even while everything else settles. */
    heldUntil: number;
}

/** The state of a station whose agent was never started. */
export function newStation(parts: Pick<Station, "machine" | "kubelet" | "kubeletTransport">): Station {
    return {
        ...parts,
        agent: undefined,
        agentTransport: undefined,
        isCut: false,
        reachableSince: 0,
        skewMs: 0,
        isLost: false,
        isForgotten: false,
        isRefused: false,
        isKubeletCut: false,
        heldUntil: 0,
    };
}

/** One replica of a cluster program. */
export interface Replica<T> {
    readonly name: string;
    process: T | undefined;
    transport: Transport | undefined;
    skewMs: number;
    startedAt: number;
}

/** A replica that has not been started yet. */
export function stoppedReplica<T>(name: string): Replica<T> {
    return { name, process: undefined, transport: undefined, skewMs: 0, startedAt: 0 };
}
