import { type Clock, orAborted } from "@antrea/async";
import { messageOf } from "@antrea/errors";
import { type ApiClient } from "@antrea/kube";
import { type Logger } from "@antrea/runtime";
import { OwnNodeCheck, type OwnNodeAnswer } from "../../platform/node/own-node-check.ts";
import { type DatedNodeSource } from "./node-addresses.ts";
import { nodeGone } from "./refusals.ts";
import { askLimitMs, lockLimitMs, within } from "./requests.ts";
import { type PoolInterface, type Wiring } from "./wiring.ts";
import { attachmentKey, podText } from "../../platform/pod-interfaces/index.ts";

export interface OwnNodeComponents {
    readonly api: Pick<ApiClient, "find">;
    readonly nodes: DatedNodeSource;
    readonly clock: Clock;
    readonly logger: Logger;
}

export interface OwnNodeOptions {
    readonly nodeName: string;
}

/** The controller frees the claims of a Node that is gone for 5 min: an agent that still runs must be done before. */
const isolateAfterMs = 240_000;
const noNodeText = "the Node object of this agent does not exist; its claims will be freed";

/**
 * Whether the Node object of this agent is there, and what follows when it is not: the controller will free the claims of
 * this Node, so nothing is claimed for it meanwhile, and its pool interfaces are isolated before their addresses may be
 * another's. When the Node is back, the reconcile of claims reconnects those whose addresses are still theirs.
 *
 * It goes by what the API server said: while that is away, or refuses the agent's token, a Node that was there counts as
 * there. A deletion that was heard of counts on, also for the next start of the agent.
 */
export class OwnNode {
    readonly #components: OwnNodeComponents;
    readonly #nodeName: string;
    readonly #check: OwnNodeCheck;
    #isKnown = false;
    /** By the monotonic clock, when it was deleted at the earliest. -Infinity: it was gone when this agent began. */
    #goneSince: number | undefined;
    /** By the monotonic clock, when the API server was asked that said that the Node is back, while the watch has not. */
    #backAt: number | undefined;
    /** Interfaces that were isolated because the Node is gone. */
    readonly #isolated = new Set<string>();

    constructor(components: OwnNodeComponents, options: OwnNodeOptions) {
        this.#components = components;
        this.#nodeName = options.nodeName;
        this.#check = new OwnNodeCheck(components, { nodeName: options.nodeName, timeoutMs: askLimitMs });
        components.nodes.onChange((type, name, _node, _old, { after }) => {
            if (name !== options.nodeName) return;
            this.#backAt = undefined;
            // The controller counts from the deletion; while the watch was cut, nobody here could hear of it.
            if (type === "deleted") {
                this.#goneSince = Math.min(after, components.clock.monotonic());
                return;
            }
            this.#isKnown = true;
            this.#back();
        });
    }

    /** Resolves when it is known whether the Node is there; rejects when the signal ends first. */
    async known(signal: AbortSignal): Promise<void> {
        if (this.#isKnown) return;
        const { nodes, logger } = this.#components;
        await nodes.synced(signal);
        if (this.#isKnown) return;
        this.#isKnown = true;
        if (this.#isListed) return;
        this.#goneSince ??= -Infinity;
        logger.warn(noNodeText, { node: this.#nodeName });
    }

    get #isListed(): boolean {
        return this.#components.nodes.list().some(({ metadata }) => metadata?.name === this.#nodeName);
    }

    /**
     * Ends to believe an answer that the Node is back when the watch is newer and does not know the Node: it was deleted
     * again, and to a list without it, after one without it, that is no change to deliver.
     */
    #judgeBack(): void {
        const { nodes, logger } = this.#components;
        if (this.#backAt === undefined || nodes.upToDateAt <= this.#backAt) return;
        if (!this.#isListed) {
            this.#goneSince ??= this.#backAt;
            logger.warn(noNodeText, { node: this.#nodeName });
        }
        this.#backAt = undefined;
    }

    /**
     * What an earlier start of this agent heard: the Node was deleted then, in milliseconds of wall time. Counts until the
     * API server says that the Node is there.
     */
    recall(goneAt: number): void {
        const { clock } = this.#components;
        if (this.#isKnown || this.#goneSince !== undefined) return;
        const ago = clock.now() - goneAt;
        // A clock that was set back says nothing of how long ago it was.
        this.#goneSince = clock.monotonic() - (ago < 0 ? isolateAfterMs : ago);
    }

    /** When the Node was deleted at the earliest, for `recall`; undefined while it is there. */
    get goneAt(): number | undefined {
        const { clock } = this.#components;
        if (this.#goneSince === undefined) return undefined;
        // Of one that was gone when this agent began, it is enough that it may isolate.
        const ago = Number.isFinite(this.#goneSince) ? clock.monotonic() - this.#goneSince : isolateAfterMs;
        return clock.now() - ago;
    }

    /** Whether the Node was gone by what was heard last. */
    get isGone(): boolean {
        return this.#goneSince !== undefined;
    }

    /**
     * Resolves when an address may be claimed for this Node. When the Node was gone by what was heard last, or the watch
     * of Nodes has been silent for 30 s, the API server is asked: a Node that was made again has claims at once. Rejects
     * with NODE_GONE when there is none, or when nobody says that a deleted one is back. While nobody answers about a Node
     * that was not heard to be deleted, the claim itself finds out what the API server says.
     */
    async confirm(signal: AbortSignal): Promise<void> {
        await this.known(signal);
        this.#judgeBack();
        // Fresh enough: the controller waits 5 min after a deletion.
        if (!this.isGone && this.#check.isFresh) return;
        await orAborted(
            this.#check.confirm((answer) => this.#judge(answer)),
            signal,
        );
    }

    #judge(answer: OwnNodeAnswer): boolean {
        if (answer.kind === "unanswered") {
            if (this.isGone) throw nodeGone(this.#nodeName, answer.error);
            return false;
        }
        const { node, askedAt, overtakenBy } = answer;
        // What was delivered meanwhile counts as the newer: that it was deleted would not be delivered once more.
        const counts = overtakenBy === undefined;
        if (counts && node !== undefined) this.#backBy(askedAt);
        if (counts && node === undefined) this.#goneSince ??= Math.min(this.#components.nodes.upToDateAt, askedAt);
        if (this.isGone) throw nodeGone(this.#nodeName);
        return counts;
    }

    /** Isolates the pool interfaces of a Node that is gone for 4 min. To be called every few seconds. */
    async look(wiring: Wiring, signal: AbortSignal): Promise<void> {
        if (!this.isGone) await this.known(signal);
        this.#judgeBack();
        const since = this.#goneSince;
        if (since === undefined || this.#components.clock.monotonic() - since < isolateAfterMs) return;
        if (!(await this.#isStillGone(since))) return;
        await Promise.all(wiring.interfaces().map((wired) => this.#isolate(wired, wiring, signal)));
    }

    /** The deletion was heard of, so while nobody answers it counts; without that an answer is needed. */
    #isStillGone(since: number): Promise<boolean> {
        return this.#check.ask((answer) => {
            if (answer.kind === "unanswered") {
                const heard = Number.isFinite(since);
                const fields = { reason: messageOf(answer.error) };
                if (!heard) this.#components.logger.warn("cannot verify that this Node exists", fields);
                return heard && this.isGone;
            }
            // The next look goes by what was delivered meanwhile.
            if (answer.overtakenBy !== undefined) return false;
            if (answer.node !== undefined) this.#backBy(answer.askedAt);
            return this.isGone;
        });
    }

    async #isolate(wired: PoolInterface, wiring: Wiring, signal: AbortSignal): Promise<void> {
        const { logger } = this.#components;
        const key = attachmentKey(wired);
        const fields = { pod: podText(wired), container: wired.containerId };
        try {
            const isolate = async (): Promise<void> => {
                // The Node may have come back while the container was worked on.
                if (this.#isolated.has(key) || !this.isGone) return;
                await wiring.isolate(wired);
                this.#isolated.add(key);
                logger.error(
                    "a Pod interface is isolated: this Node is gone, and its addresses will be others'",
                    fields,
                );
            };
            // One whose container is busy is left to the next look, and keeps no others waiting.
            await wiring.exclusively(wired.containerId, isolate, within(signal, lockLimitMs));
        } catch (error) {
            logger.warn("Pod interface cannot be isolated yet; retrying", { ...fields, reason: messageOf(error) });
        }
    }

    #backBy(askedAt: number): void {
        if (this.isGone) this.#backAt = askedAt;
        this.#back();
    }

    /** Without the first list it is not known for good: a list that is newer than an answer may be without the Node. */
    #back(): void {
        this.#goneSince = undefined;
        this.#isolated.clear();
    }
}
