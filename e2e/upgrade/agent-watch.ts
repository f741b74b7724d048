import { setTimeout as pause } from "node:timers/promises";
import { systemNamespace } from "../fixture/cluster.ts";
import { type Outage } from "../fixture/connections.ts";
import { FixtureError } from "../fixture/error.ts";
import { getJson } from "../fixture/objects.ts";

/** Open vSwitch of a Node forwards again so long after its agent is ready, at most. */
export const recoveryMs = 5_000;

/**
 * The times in which Open vSwitch of a Node may not forward, of those without a ready agent: it ends up to a second before that is
 * seen, and forwards again when the new agent has sent all flows.
 */
export function outagesOf(away: readonly Outage[]): readonly Outage[] {
    return away.map(({ node, from, to }) => ({ node, from: from - 1_000, to: to + recoveryMs }));
}

interface AgentPod {
    readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
    readonly spec: { readonly nodeName?: string };
    readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** Polls twice a second which Nodes have an agent that is ready, until it is disposed of. */
export class AgentWatch implements AsyncDisposable {
    readonly #away: Outage[] = [];
    /** Since when, by Node. */
    readonly #since = new Map<string, number>();
    /** When the last poll found an agent on a Node. */
    readonly #lastSeen = new Map<string, number>();
    #problem = "there is none";
    readonly #stop = new AbortController();
    readonly #polling: Promise<void>;

    constructor() {
        this.#polling = this.#poll();
    }

    /** The times in which a Node had no agent that is ready, so far; one that lasts ends now. Throws FixtureError if no agent was seen at all: nothing is known then. */
    away(): readonly Outage[] {
        const now = Date.now();
        if (this.#lastSeen.size === 0)
            throw new FixtureError(
                "NOT_FOUND",
                "environment",
                `no agent that is ready was ever seen: ${this.#problem}`,
            );
        return [...this.#away, ...[...this.#since].map(([node, from]) => ({ node, from, to: now }))];
    }

    async [Symbol.asyncDispose](): Promise<void> {
        this.#stop.abort();
        await this.#polling;
    }

    async #poll(): Promise<void> {
        const ofAgents = { namespace: systemNamespace, labelSelector: "component=antrea-agent", timeoutMs: 5_000 };
        while (!this.#stop.signal.aborted) {
            const at = Date.now();
            try {
                this.#saw((await getJson<{ items: readonly AgentPod[] }>("pods", ofAgents)).items, at);
            } catch (error) {
                // the API server may be away for a moment in an upgrade
                this.#problem = String(error);
            }
            await pause(500);
        }
    }

    #saw(pods: readonly AgentPod[], at: number): void {
        const ready = pods.flatMap(({ metadata, spec, status }) => {
            const is = status.conditions?.some(
                (condition) => condition.type === "Ready" && condition.status === "True",
            );
            return is === true && metadata.deletionTimestamp === undefined ? [spec.nodeName ?? ""] : [];
        });
        for (const node of ready) {
            const from = this.#since.get(node);
            if (from !== undefined) this.#away.push({ node, from, to: Date.now() });
            this.#since.delete(node);
            this.#lastSeen.set(node, at);
        }
        for (const [node, seen] of this.#lastSeen)
            if (!ready.includes(node) && !this.#since.has(node)) this.#since.set(node, seen);
    }
}
