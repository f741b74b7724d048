import { type IpAllocation } from "@antrea/crd";
import { kindOf } from "../api/server.ts";
import { type Change } from "../api/store.ts";
import { type VirtualTime } from "../time/virtual-time.ts";
import { isOfAnotherPlugin, type Truth } from "./truth.ts";

const nodeKind = kindOf("v1", "nodes");
const allocationKind = kindOf("crd.antrea.io/v1alpha1", "ipallocations");
/**
 * The controller releases the addresses of a Node that was deleted five minutes ago; it may have learned of it
 * slightly before the last write.
 */
const freedMs = 295_000;
/**
 * An agent that learned of it immediately has isolated by then, which its next start knows even without its database.
 */
const isolatedMs = 255_000;
/** A connected agent has learned of it by then, and has had time to isolate. */
const heardMs = 60_000;
const pollMs = 1_000;

export interface GoneNodesComponents {
    readonly truth: Truth;
    readonly time: VirtualTime;
    /** The current start of this Node's agent, if nothing prevents it from receiving changes and isolating. */
    readonly hearing: (node: string) => object | undefined;
    /** How often the Node lost the database in which its agent records what it learned. */
    readonly databasesOf: (node: string) => number;
    /** Running containers of the Pod on the Node. */
    readonly containersOf: (node: string, podUid: string) => readonly string[];
}

interface Gone {
    readonly since: number;
    /** The connected start of the agent, and the duration of its connection. */
    agent: object | undefined;
    /** The database in which it recorded that. */
    database: number;
    hearingMs: number;
    /**
     * Containers that may continue beside a new owner until their agent has learned of it, as allocation and
     * container.
     */
    readonly excused: (readonly [allocation: string, container: string])[];
    isBack: boolean;
}

/**
 * The exceptions for Nodes that are deleted while their containers run: while the agent cannot learn of it, they may
 * continue with addresses that are free, or allocated to others, once the Node was deleted five minutes ago, and
 * until the agent has been connected for a minute. An agent that was connected has isolated by then, however often it
 * restarted, unless its database was lost: then it must learn of it again.
 */
export class GoneNodes {
    readonly #components: GoneNodesComponents;
    readonly #gone = new Map<string, Gone>();

    constructor(components: GoneNodesComponents) {
        this.#components = components;
    }

    changed({ kind, key, before, after }: Change): void {
        if (kind === nodeKind && after === undefined) this.#begin(key);
        const back = kind === nodeKind && before === undefined ? this.#gone.get(key) : undefined;
        if (back !== undefined) back.isBack = true;
        if (kind === allocationKind)
            this.#allocationChanged(
                key,
                before?.object as IpAllocation | undefined,
                after?.object as IpAllocation | undefined,
            );
    }

    /** Whether the Node was deleted, and its agent may not have learned of it. */
    isUnheard(node: string): boolean {
        const gone = this.#gone.get(node);
        return gone !== undefined && gone.hearingMs < heardMs;
    }

    #begin(node: string): void {
        const known = this.#gone.get(node);
        this.#gone.set(node, {
            since: this.#components.time.now,
            agent: undefined,
            database: 0,
            hearingMs: 0,
            isBack: false,
            excused: known?.excused ?? [],
        });
        if (known === undefined) this.#poll(node);
    }

    #poll(node: string): void {
        const { time, truth, hearing, databasesOf } = this.#components;
        time.after(pollMs, () => {
            const gone = this.#gone.get(node);
            if (gone === undefined) return;
            const agent = hearing(node);
            const hasForgotten = databasesOf(node) !== gone.database && time.now - gone.since < isolatedMs;
            const knows = gone.hearingMs >= heardMs && !hasForgotten;
            if (!knows && agent !== gone.agent) gone.hearingMs = 0;
            if (agent !== undefined) {
                gone.agent = agent;
                gone.database = databasesOf(node);
                gone.hearingMs += pollMs;
            }
            if (gone.hearingMs >= heardMs) {
                for (const [allocation, container] of gone.excused.splice(0)) truth.endExcuse(allocation, container);
                if (gone.isBack) return void this.#gone.delete(node);
            }
            this.#poll(node);
        });
    }

    #allocationChanged(name: string, before: IpAllocation | undefined, after: IpAllocation | undefined): void {
        const { truth, time, containersOf } = this.#components;
        const pod = before?.spec.pod;
        const gone = pod === undefined ? undefined : this.#gone.get(pod.nodeName);
        if (pod === undefined || gone === undefined || after?.spec.pod?.uid === pod.uid) return;
        if (time.now - gone.since < freedMs) return;
        const containers = containersOf(pod.nodeName, pod.uid);
        if (isOfAnotherPlugin(before)) return containers.forEach((id) => truth.excuse(name, id, "cannot be isolated"));
        if (gone.hearingMs >= heardMs) return;
        for (const container of containers) {
            truth.excuse(name, container, "unheard");
            gone.excused.push([name, container]);
        }
    }
}
