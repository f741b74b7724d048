import { AntreaError, isAborted, messageOf } from "@antrea/errors";
import { Category, cookie, cookieOf, reservedMask, type FlowSet } from "@antrea/flows";
import { OpenFlowError, type Flow, type FlowStats } from "@antrea/openflow";
import { type Logger } from "@antrea/runtime";
import { addFlows, type RefusedOwner } from "./add-flows.ts";
import { difference, modsOf, whole, type Difference } from "./difference.ts";
import { deleteFlows, ofRound, type FlowLink } from "./flow-link.ts";
import {
    byIdentity,
    OwnedFlows,
    stamped,
    wantedFlows,
    type FlowIdentity,
    type FlowSource,
    type Owned,
} from "./owned-flows.ts";
import { byKey, Repair, undesired, type Repaired } from "./repair.ts";
import { replayBundles } from "./replay-order.ts";
import { Sender } from "./sender.ts";

/** Dependencies of FlowTable; the caller starts and closes the connection behind `link`. */
export interface FlowTableComponents {
    readonly link: FlowLink;
    readonly logger: Logger;
}

/**
 * The change of one owner in a transaction of `FlowTable.apply`: all its flows, or, for an owner with a source, the
 * difference.
 */
export type OwnerChange =
    /** All its flows; undefined removes the owner. `whole`: all of them are sent, not only the changed ones. */
    | { readonly owner: string; readonly flows: FlowSet | undefined; readonly whole?: boolean }
    /**
     * For a staged source: the changes of its model, which have been made already, as new or changed and removed flows.
     */
    | { readonly owner: string; readonly added: readonly Flow[]; readonly removed: readonly FlowIdentity[] };

const categories: ReadonlySet<number> = new Set(Object.values(Category));

/**
 * Whether a cookie has the format of this agent: those of other programs usually have no upper bits, or all of them.
 */
function isOurCookie(value: bigint): boolean {
    const { round, category } = cookieOf(value);
    return round !== 0 && categories.has(category) && (value & reservedMask) === 0n;
}

/** - `NO_ROUND`: flows are sent before `useRound` */
class FlowTableError extends AntreaError<"NO_ROUND"> {}

/** The change of one owner by one call: before, after, and what OVS may have until the call has ended. */
interface Step extends Difference {
    readonly owner: string;
    readonly before: Owned | undefined;
    readonly after: Owned | undefined;
    readonly doubtBefore: Iterable<FlowIdentity> | undefined;
    readonly doubt: readonly FlowIdentity[];
}

/**
 * The desired flows of the bridge, by owner, and their synchronization with OVS.
 *
 * The table is authoritative: a change is made in it first and then in OVS, so that a replay after a reconnect restores
 * exactly the desired flows. Only the differences of an owner are sent, as long as OVS has acknowledged its previous
 * flows. The cookie of a flow contains the round of this process, the category and the ID of its owner; an ADD with the
 * match and priority of an older flow replaces it in place, and flows missing from the round are deleted afterwards.
 * Flows without one of our rounds are never changed. Order of calls: `useRound`, `stage`, then `replay` at each connect.
 */
export class FlowTable {
    readonly #link: FlowLink;
    readonly #logger: Logger;
    readonly #owners = new OwnedFlows();
    readonly #sender: Sender;
    readonly #repair: Repair;
    /** By owner: flows that OVS may have, desired or not, because a change of them is in progress or failed. */
    readonly #doubts = new Map<string, readonly FlowIdentity[]>();
    /** By owner: number of calls waiting for OVS. */
    readonly #underWay = new Map<string, number>();
    /** What OVS refused while the owner had changed again, and what the owner had before. */
    readonly #refused = new WeakMap<Owned, Owned | undefined>();
    #round: number | undefined;

    constructor(components: FlowTableComponents) {
        this.#link = components.link;
        this.#logger = components.logger;
        this.#sender = new Sender(components.link, components.logger);
        this.#repair = new Repair({ link: components.link, owners: this.#owners });
    }

    /** Sets the round (1..65535) of all cookies; to be called once, before the first replay. */
    useRound(round: number): void {
        this.#round = round;
    }

    /** Number of desired flows of all owners. */
    get size(): number {
        return this.#owners.size;
    }

    /**
     * The desired flows of one owner, with their cookies; empty if it has none. Throws FlowTableError `NO_ROUND` before
     * `useRound`.
     */
    flowsOf(owner: string): readonly Flow[] {
        return this.#flowsOf(this.#owners.get(owner));
    }

    /**
     * Sets the flows of the owner, or a source that generates them, without sending them: before the first replay,
     * which sends them. Replaces what was staged for it.
     */
    stage(owner: string, wanted: FlowSet | FlowSource): void {
        this.#owners.put(owner, wanted);
    }

    /**
     * Sets all flows of the owner and waits until OVS has them. Idempotent; calls for one owner reach OVS in order.
     * While OVS is disconnected, waits for the replay after the reconnect, which includes them, until the signal
     * aborts. Rejects as `apply`.
     *
     * @param options `whole`: sends all flows, to restore those that another program has removed from OVS
     */
    async set(
        owner: string,
        flows: FlowSet,
        signal?: AbortSignal,
        { whole: isWhole = false }: { readonly whole?: boolean } = {},
    ): Promise<void> {
        await this.apply([{ owner, flows, whole: isWhole }], signal);
    }

    /**
     * Makes several changes atomically: OVS has all or none of them, and if OVS rejects them (OpenFlowError `REFUSED`)
     * they are reverted in this table; a part that OVS applied nevertheless (`details.partial`) is reverted there too.
     * For a source, whose model has changed before, the caller must revert the change then. After an abort the flows
     * stay desired: the caller removes them or retries. Otherwise like `set`.
     */
    async apply(changes: readonly OwnerChange[], signal?: AbortSignal): Promise<void> {
        this.#currentRound();
        const steps = changes.map((change) => this.#step(change));
        if (steps.every(({ doubt }) => doubt.length === 0)) return;
        try {
            await this.#take(steps, signal);
        } catch (error) {
            // Rejected by OVS: its flows are unchanged. After an abort the flows stay desired: the caller removes them
            // or retries.
            if (!isAborted(error)) this.#restore(steps, error);
            if (isPartial(error)) await this.#takeBack(steps, signal);
            throw error;
        }
    }

    /**
     * Removes all flows of the owner; while OVS is disconnected, the replay after the reconnect deletes them. Resolves
     * when OVS has none of them, including those that an earlier call failed to remove. After a rejection (abort,
     * OpenFlowError) they stay removed in this table; a further call sends the deletion again.
     */
    async remove(owner: string, signal?: AbortSignal): Promise<void> {
        const step = this.#step({ owner, flows: undefined });
        if (step.doubt.length > 0) await this.#take([step], signal);
    }

    /**
     * Sends every desired flow to OVS and deletes those of this round that are not desired. To be called after each
     * connect, before anything else is sent. Owners whose flows OVS refuses are left out and logged, except for the
     * pipeline and policies, for which it rejects. Rejects with OpenFlowError.
     */
    async replay(link: FlowLink): Promise<void> {
        await this.#sender.replay(async () => {
            const settled = this.#quietDoubts();
            const refused: RefusedOwner[] = [];
            let flows = 0;
            for (const bundle of replayBundles(this.#owners.all(), this.#currentRound())) {
                refused.push(...(await addFlows(link, bundle)));
                for (const part of bundle) flows += part.flows.length;
            }
            const deleted = await this.#deleteUndesired(link, this.#currentRound());
            this.#logger.info("flows replayed", { flows, deleted });
            this.#settle(settled);
            return this.#doubtRefused(refused);
        });
    }

    /**
     * Deletes the flows of earlier processes, by the given rounds, but those of `except`; returns their number. If the
     * database was lost, no rounds are given: OVS may have kept the flows, which are then identified by their cookies.
     * The current round is skipped. Rejects with OpenFlowError, on abort `ABORTED`; some may be deleted then.
     */
    async deleteRounds(
        rounds: readonly number[],
        o: { readonly except?: (flow: FlowStats) => boolean; readonly signal?: AbortSignal } = {},
    ): Promise<number> {
        let deleted = 0;
        for (const round of rounds.length > 0 ? rounds : await this.#roundsInSwitch(o.signal)) {
            if (round !== this.#currentRound()) deleted += await this.#deleteUndesired(this.#link, round, o);
        }
        return deleted;
    }

    /**
     * Compares OVS with the table and repairs differences; returns the number of missing or wrong flows and of
     * superfluous ones. Above 4,000 flows a comparison of all takes sixteen calls, see `Repair`. Concurrent changes are
     * left to their callers. Rejects with OpenFlowError.
     */
    async repair(): Promise<Repaired> {
        const settled = this.#quietDoubts();
        const { refused, ...repaired } = await this.#repair.run(this.#currentRound(), this.#doubts.size === 0);
        this.#settle(settled);
        this.#doubtRefused(refused);
        return repaired;
    }

    /** OVS may have any of the flows of these owners. Returns their names. */
    #doubtRefused(refused: readonly RefusedOwner[]): ReadonlySet<string> {
        for (const { owned, error } of refused) {
            const { owner } = owned;
            this.#logger.error(
                "OVS refuses flows of an owner; its other flows and those of all other owners are sent",
                {
                    owner,
                    reason: messageOf(error),
                },
            );
            const doubt = [...(this.#doubts.get(owner) ?? []), ...this.#flowsOf(owned)];
            if (!this.#underWay.has(owner)) this.#doubts.set(owner, doubt);
        }
        return new Set(refused.map(({ owned }) => owned.owner));
    }

    /** Makes the change in this table, before OVS. */
    #step(change: OwnerChange): Step {
        const { owner } = change;
        const before = this.#owners.get(owner);
        const doubtBefore = this.#doubts.get(owner);
        const flowsBefore = "flows" in change ? this.#flowsOf(before) : [];
        const after = this.#owners.put(owner, "flows" in change ? change.flows : before?.wanted);
        const made = this.#difference(change, { before: flowsBefore, owned: before ?? after, after, doubtBefore });
        const touched = [...flowsBefore, ...made.added, ...made.removed];
        const doubt = doubtBefore === undefined ? touched : [...byIdentity([...doubtBefore, ...touched]).values()];
        if (doubt.length > 0) this.#doubts.set(owner, doubt);
        return { owner, before, after, doubtBefore, doubt, ...made };
    }

    #difference(
        change: OwnerChange,
        {
            before,
            owned,
            after,
            doubtBefore,
        }: {
            readonly before: readonly Flow[];
            /** The state whose cookie removed flows have. */
            readonly owned: Owned | undefined;
            readonly after: Owned | undefined;
            readonly doubtBefore: readonly FlowIdentity[] | undefined;
        },
    ): Difference {
        if ("flows" in change) {
            const flows = this.#flowsOf(after);
            return doubtBefore === undefined && change.whole !== true
                ? difference(before, flows)
                : whole([...(doubtBefore ?? []), ...before], flows);
        }
        const { added } = change;
        const removed = owned === undefined ? change.removed : this.#withCookie(owned, change.removed);
        if (after === undefined) return { added: [], removed };
        if (doubtBefore !== undefined) return whole([...doubtBefore, ...removed], this.#flowsOf(after));
        return { added: stamped(after, added, this.#currentRound()), removed };
    }

    #withCookie(owned: Owned, flows: readonly FlowIdentity[]): readonly FlowIdentity[] {
        const value = cookie(this.#currentRound(), owned.wanted.category, owned.objectId);
        return flows.map(({ table, priority, match }) => ({ table, priority, match, cookie: value }));
    }

    async #take(steps: readonly Step[], signal: AbortSignal | undefined): Promise<void> {
        const owners = steps.map(({ owner }) => owner);
        for (const owner of owners) this.#underWay.set(owner, (this.#underWay.get(owner) ?? 0) + 1);
        try {
            await this.#sender.send(owners, modsOf(steps), signal);
            this.#settle(steps.map(({ owner, doubt }) => [owner, doubt]));
        } finally {
            for (const owner of owners) {
                const left = (this.#underWay.get(owner) ?? 1) - 1;
                if (left === 0) this.#underWay.delete(owner);
                else this.#underWay.set(owner, left);
            }
        }
    }

    /** Reverts the changes in the table; for owners that have changed since, only the remaining part. */
    #restore(steps: readonly Step[], error: unknown): void {
        for (const { owner, before, after, doubt, doubtBefore } of steps) {
            if (this.#owners.get(owner) === after) this.#owners.put(owner, this.#lastAccepted(before)?.wanted);
            else if (after !== undefined) this.#refused.set(after, before);
            if (isPartial(error) || this.#doubts.get(owner) !== doubt) continue;
            if (doubtBefore === undefined) this.#doubts.delete(owner);
            else this.#doubts.set(owner, [...doubtBefore]);
        }
    }

    /** The newest state of the owner, from this one back, that OVS has not refused. */
    #lastAccepted(owned: Owned | undefined): Owned | undefined {
        let state = owned;
        while (state !== undefined && this.#refused.has(state)) state = this.#refused.get(state);
        return state;
    }

    /** Reverts in OVS the part of a rejected change that it has applied, and restores the previous flows. */
    async #takeBack(steps: readonly Step[], signal: AbortSignal | undefined): Promise<void> {
        const owners = steps.map(({ owner }) => owner);
        try {
            const back = owners.map((owner): Step => {
                const owned = this.#owners.get(owner);
                const flows = this.#flowsOf(owned);
                const doubtBefore = this.#doubts.get(owner);
                const doubt = [...(doubtBefore ?? []), ...flows];
                this.#doubts.set(owner, doubt);
                return { owner, before: owned, after: owned, doubtBefore, doubt, ...whole(doubt, flows) };
            });
            await this.#take(back, signal);
        } catch (error) {
            this.#logger.warn("flows of a change that OVS refused in part stay until the next repair", {
                owners: owners.join(" "),
                reason: messageOf(error),
            });
        }
    }

    /** Doubts that no call in progress will settle: everything sent before has completed. */
    #quietDoubts(): readonly (readonly [string, readonly FlowIdentity[]])[] {
        return [...this.#doubts].filter(([owner]) => !this.#underWay.has(owner));
    }

    /**
     * OVS has exactly the desired flows of these owners: a later change must not delete flows that another owner added
     * since.
     */
    #settle(settled: readonly (readonly [string, readonly FlowIdentity[]])[]): void {
        for (const [owner, doubt] of settled) if (this.#doubts.get(owner) === doubt) this.#doubts.delete(owner);
    }

    #flowsOf(owned: Owned | undefined): readonly Flow[] {
        return owned === undefined ? [] : stamped(owned, wantedFlows(owned.wanted), this.#currentRound());
    }

    async #deleteUndesired(
        link: FlowLink,
        round: number,
        {
            except = () => false,
            signal,
        }: { readonly except?: (flow: FlowStats) => boolean; readonly signal?: AbortSignal } = {},
    ): Promise<number> {
        const stats = await link.dumpFlows(ofRound(round), { signal });
        const isCurrent = round === this.#currentRound();
        const all = isCurrent ? await undesired(await byKey(stats), this.#owners) : stats;
        const stale = all.filter((flow) => !except(flow));
        await deleteFlows(link, round, stale, signal);
        return stale.length;
    }

    async #roundsInSwitch(signal?: AbortSignal): Promise<readonly number[]> {
        const all = await this.#link.dumpFlows({ cookie: 0n, cookieMask: 0n }, { signal });
        const ours = all.map(({ cookie }) => cookie).filter(isOurCookie);
        return [...new Set(ours.map((cookie) => cookieOf(cookie).round))];
    }

    #currentRound(): number {
        if (this.#round === undefined)
            throw new FlowTableError("NO_ROUND", "internal", "flows are sent before the round is known");
        return this.#round;
    }
}

/** OVS could not parse one message of a bundle and committed the others. */
function isPartial(error: unknown): boolean {
    return error instanceof OpenFlowError && error.details.partial === true;
}
