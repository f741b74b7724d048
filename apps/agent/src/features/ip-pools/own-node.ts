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

/** Dependencies of OwnNode. */
export interface OwnNodeComponents {
    readonly api: Pick<ApiClient, "find">;
    readonly nodes: DatedNodeSource;
    readonly clock: Clock;
    readonly logger: Logger;
}

/** Settings of OwnNode. */
export interface OwnNodeOptions {
    readonly nodeName: string;
}

/**
 * The controller frees the allocations of a Node deleted for 5 min: an agent that still runs must isolate its Pods
 * before.
 */
const isolateAfterMs = 240_000;
const noNodeText = "the Node object of this agent does not exist; its allocations will be released";

/**
 * Tracks whether the Node object of this agent exists. If it is deleted, the controller will free the allocations of
 * this Node, so no address is allocated meanwhile and the pool interfaces are isolated before their addresses may be
 * reassigned. After the Node is recreated, the reconciler of allocations reconnects the interfaces whose addresses are
 * still theirs.
 *
 * Based on answers of the API server: while it is unavailable or rejects the agent's token, a Node that existed counts
 * as existing. An observed deletion remains in effect, also for the next start of the agent. Subscribes to `nodes`
 * until it is disposed of.
 */
export class OwnNode implements Disposable {
    readonly #components: OwnNodeComponents;
    readonly #nodeName: string;
    readonly #check: OwnNodeCheck;
    readonly #listener: Disposable;
    #isKnown = false;
    /** Earliest deletion time by the monotonic clock. -Infinity: the Node was missing when the agent started. */
    #goneSince: number | undefined;
    /** Monotonic time of the request that found the Node recreated, until the watch confirms it. */
    #backAt: number | undefined;
    /** Interfaces that were isolated because the Node is deleted. */
    readonly #isolated = new Set<string>();

    constructor(components: OwnNodeComponents, options: OwnNodeOptions) {
        this.#components = components;
        this.#nodeName = options.nodeName;
        this.#check = new OwnNodeCheck(components, { nodeName: options.nodeName, timeoutMs: askLimitMs });
        this.#listener = components.nodes.onChange((type, name, _node, _old, { after }) => {
            if (name !== options.nodeName) return;
            this.#backAt = undefined;
            // The controller counts from the deletion, which a broken watch may have delivered late.
            if (type === "deleted") {
                this.#goneSince = Math.min(after, components.clock.monotonic());
                return;
            }
            this.#isKnown = true;
            this.#back();
        });
    }

    /** Removes the listeners from the Node source. */
    [Symbol.dispose](): void {
        this.#listener[Symbol.dispose]();
        this.#check[Symbol.dispose]();
    }

    /**
     * Resolves when it is known whether the Node exists; rejects if the signal aborts first. Logs, once, that it was
     * missing when the agent started.
     */
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
     * Discards an answer that the Node is back when a newer watch does not have the Node: it was deleted again, and
     * between two lists that both lack it the Informer reports no change.
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
     * Restores the deletion time (wall time, milliseconds) that an earlier run of the agent observed. Remains in effect
     * until the API server reports that the Node exists. No effect once the Node's state is known.
     */
    recall(goneAt: number): void {
        const { clock } = this.#components;
        if (this.#isKnown || this.#goneSince !== undefined) return;
        const ago = clock.now() - goneAt;
        // A clock that was set back gives no information about the age.
        this.#goneSince = clock.monotonic() - (ago < 0 ? isolateAfterMs : ago);
    }

    /**
     * The earliest deletion time of the Node (wall time, milliseconds), for `recall`; undefined while it exists. For a
     * Node that was missing when the agent started, 4 min ago.
     */
    get goneAt(): number | undefined {
        const { clock } = this.#components;
        if (this.#goneSince === undefined) return undefined;
        // Of one that was gone when this agent began, it is enough that it may isolate.
        const ago = Number.isFinite(this.#goneSince) ? clock.monotonic() - this.#goneSince : isolateAfterMs;
        return clock.now() - ago;
    }

    /** Whether the Node is deleted, according to the latest information. */
    get isGone(): boolean {
        return this.#goneSince !== undefined;
    }

    /**
     * Resolves when addresses may be allocated for this Node. Asks the API server if the Node was last seen as deleted,
     * or if the Node watch has been silent for 30 s, so that a recreated Node gets addresses at once. Rejects with
     * NODE_GONE if the Node does not exist, or if its return cannot be confirmed, and if the signal aborts. If the API
     * server does not answer about a Node not known as deleted, resolves: the allocation request itself determines the
     * outcome.
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
        // A watch event during the request is newer: a deletion would not be delivered again.
        const counts = overtakenBy === undefined;
        if (counts && node !== undefined) this.#backBy(askedAt);
        if (counts && node === undefined) this.#goneSince ??= Math.min(this.#components.nodes.upToDateAt, askedAt);
        if (this.isGone) throw nodeGone(this.#nodeName);
        return counts;
    }

    /**
     * Isolates the pool interfaces once the Node has been deleted for 4 min, after asking the API server. To be called
     * every few seconds: failures to isolate are logged and left to the next call. Rejects only if the signal aborts
     * before the Nodes are synced.
     */
    async check(wiring: Wiring, signal: AbortSignal): Promise<void> {
        if (!this.isGone) await this.known(signal);
        this.#judgeBack();
        const since = this.#goneSince;
        if (since === undefined || this.#components.clock.monotonic() - since < isolateAfterMs) return;
        if (!(await this.#isStillGone(since))) return;
        await Promise.all(wiring.interfaces().map((wired) => this.#isolate(wired, wiring, signal)));
    }

    /**
     * An observed deletion remains in effect while the API server does not answer; without one, an answer is required.
     */
    #isStillGone(since: number): Promise<boolean> {
        return this.#check.ask((answer) => {
            if (answer.kind === "unanswered") {
                const heard = Number.isFinite(since);
                const fields = { reason: messageOf(answer.error) };
                if (!heard) this.#components.logger.warn("cannot verify that this Node exists", fields);
                return heard && this.isGone;
            }
            // The next check uses what the watch delivered meanwhile.
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
                // The Node may have been recreated while the container lock was awaited.
                if (this.#isolated.has(key) || !this.isGone) return;
                await wiring.isolate(wired);
                this.#isolated.add(key);
                logger.error(
                    "a Pod interface is isolated: this Node was deleted, and its addresses will be reallocated",
                    fields,
                );
            };
            // A busy container is left to the next check, so that it does not delay the others.
            await wiring.exclusively(wired.containerId, isolate, within(signal, lockLimitMs));
        } catch (error) {
            logger.warn("Pod interface cannot be isolated yet; retrying", { ...fields, reason: messageOf(error) });
        }
    }

    #backBy(askedAt: number): void {
        if (this.isGone) this.#backAt = askedAt;
        this.#back();
    }

    /** Leaves `#isKnown` unchanged: a first list that is newer than the answer may lack the Node. */
    #back(): void {
        this.#goneSince = undefined;
        this.#isolated.clear();
    }
}
