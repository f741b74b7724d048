import { AntreaError, isAborted, isErrorOf, messageOf } from "@antrea/errors";
import { OpenFlowError, type Flow } from "@antrea/openflow";
import { type Logger } from "@antrea/runtime";
import { addFlows, type RefusedOwner } from "./add-flows.ts";
import {
    difference,
    either,
    isNothing,
    modsOf,
    possible,
    whole,
    type Difference,
    type Possible,
} from "./difference.ts";
import { Doubts, type Doubt } from "./doubts.ts";
import { EarlierRounds, type DeleteOptions, type EarlierReader } from "./earlier-rounds.ts";
import { deleteFlows, deleteGroups, endingWith, ofRound, type FlowLink } from "./flow-link.ts";
import type { FlowOwner } from "./flow-owner.ts";
import { GroupNumbers } from "./group-numbers.ts";
import { OwnedFlows, type FlowsAndGroups, type FlowSource, type Owned } from "./owned-flows.ts";
import { Repair, type Repaired } from "./repair.ts";
import { replayBundles } from "./replay-order.ts";
import { Sender } from "./sender.ts";
import { nothing, Stamp, type Contents } from "./stamp.ts";
import { isPartial, withoutReliance, withoutReplaced, type OwnerChange, type Step } from "./step.ts";
import { byKey, undesired } from "./undesired.ts";

/** Dependencies of FlowTable; the caller starts and closes the connection behind `link`. */
export interface FlowTableComponents {
    readonly link: FlowLink;
    readonly logger: Logger;
}

/** - `NO_ROUND`: flows are sent before `useRound` */
class FlowTableError extends AntreaError<"NO_ROUND"> {}

/** What a round needs: its number, those of earlier starts, and the form of flows in it. */
interface Round {
    readonly current: number;
    readonly earlier: readonly number[] | undefined;
    readonly stamp: Stamp;
}

/**
 * The desired flows and groups of the bridge, by owner, and their synchronization with OVS.
 *
 * The table is authoritative: a change is made in it first and then in OVS, so that a replay after a reconnect restores
 * exactly the desired flows. Only the differences of an owner are sent, as long as OVS has acknowledged its previous
 * flows. The cookie of a flow contains the round of this process, the category and the ID of its owner; an ADD with the
 * match and priority of an older flow replaces it in place, and flows missing from the round are deleted afterwards.
 * Groups have ids of the round, and are added before and deleted after the flows that use them. Flows without one of our
 * rounds are never changed, as those that OVS learns for Services. Order of calls: `useRound`, `stage`, then `replay` at each connect.
 */
export class FlowTable implements FlowOwner {
    readonly #link: FlowLink;
    readonly #logger: Logger;
    readonly #owners = new OwnedFlows();
    readonly #numbers = new GroupNumbers();
    readonly #sender: Sender;
    readonly #repair: Repair;
    readonly #earlier: EarlierRounds;
    readonly #doubts = new Doubts();
    /** What OVS refused while the owner had changed again, and what the owner had before. */
    readonly #refused = new WeakMap<Owned, Owned | undefined>();
    #round: Round | undefined;
    /** Aborted by the next replay. */
    #repairs = new AbortController();

    constructor(components: FlowTableComponents) {
        this.#link = components.link;
        this.#logger = components.logger;
        this.#sender = new Sender({ ...components, onNoAnswer: () => this.#doubts.noAnswer() });
        this.#repair = new Repair(this.#owners);
        this.#earlier = new EarlierRounds(components.link);
    }

    /**
     * Sets the round (1..65535) of all cookies and groups; to be called once, before the first replay.
     *
     * @param earlier the rounds of earlier starts, whose flows of Services the first replay reads; [] if the database was
     *   lost: they are then identified by their cookies
     */
    useRound(current: number, earlier?: readonly number[]): void {
        this.#round = { current, earlier, stamp: new Stamp(current, this.#numbers) };
    }

    /** Adds a reader of what earlier starts had in OVS; to be called before the first replay. */
    onEarlier(reader: EarlierReader): void {
        this.#earlier.addReader(reader);
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
        return this.#contentsOf(this.#owners.get(owner)).flows;
    }

    /**
     * Sets the flows and groups of the owner, or a source that generates them, without sending them: before the first
     * replay, which sends them. Replaces what was staged for it.
     */
    stage(owner: string, wanted: FlowsAndGroups | FlowSource): void {
        this.#owners.put(owner, wanted);
    }

    /**
     * Sets all flows and groups of the owner and waits until OVS has them. Idempotent; calls for one owner reach OVS in
     * order. While OVS is disconnected, waits for the replay after the reconnect, which includes them, until the signal
     * aborts. Rejects as `apply`.
     *
     * @param options `whole`: sends all flows, to restore those that another program has removed from OVS
     */
    async set(
        owner: string,
        flows: FlowsAndGroups | FlowSource,
        signal?: AbortSignal,
        { whole: isWhole = false }: { readonly whole?: boolean } = {},
    ): Promise<void> {
        await this.apply([{ owner, flows, whole: isWhole }], signal);
    }

    /**
     * Makes several changes atomically, in one bundle: OVS has all or none of them, and if OVS rejects them
     * (OpenFlowError `REFUSED`) they are reverted in this table; a part that OVS applied nevertheless
     * (`details.partial`) is reverted there too. For a model, which has changed before, the caller must revert the
     * change then. After an abort the flows stay desired: the caller removes them or retries. Otherwise like `set`.
     * OVS forwards nothing while it applies a bundle: pass at most about 2,000 flows, groups and buckets.
     */
    async apply(changes: readonly OwnerChange[], signal?: AbortSignal): Promise<void> {
        const steps: Step[] = [];
        try {
            for (const change of withoutReplaced(changes)) steps.push(this.#step(change));
            if (steps.every(({ doubt }) => isNothing(doubt))) return;
            await this.#take(steps, signal);
        } catch (error) {
            // Rejected by OVS: its flows are unchanged. After an abort the flows stay desired: the caller removes them
            // or retries.
            if (!isAborted(error)) this.#restore(steps, error);
            if (steps.some((step) => this.#isUnsure(step, error))) await this.#takeBack(steps, signal);
            throw error;
        }
    }

    /**
     * Removes all flows and groups of the owner; while OVS is disconnected, the replay after the reconnect deletes them.
     * Resolves when OVS has none of them, including those that an earlier call failed to remove. After a rejection
     * (abort, OpenFlowError) they stay removed in this table; a further call sends the deletion again.
     */
    async remove(owner: string, signal?: AbortSignal): Promise<void> {
        const step = this.#step({ owner, flows: undefined });
        if (!isNothing(step.doubt)) await this.#take([step], signal);
    }

    /**
     * Sends every desired group and flow to OVS and deletes those of this round that are not desired. To be called after
     * each connect, before anything else is sent; the first time it reads what earlier starts have left. Owners whose
     * flows OVS refuses are left out and logged, except for the pipeline and policies, for which it rejects. Rejects
     * with OpenFlowError.
     */
    async replay(link: FlowLink): Promise<void> {
        // What a repair has yet to send is of before the replay, which restores all: sent after it, it would stay.
        this.#repairs.abort();
        this.#repairs = new AbortController();
        await this.#doubts.restoring(() => this.#sender.replay(() => this.#replay(link)));
    }

    /**
     * Deletes the flows of earlier processes, by the given rounds, but those of `except`; returns their number. Without
     * `except` also their groups, after the flows. If the database was lost, no rounds are given: OVS may have kept the
     * flows, which are then identified by their cookies. The current round is skipped. Rejects with OpenFlowError, on
     * abort `ABORTED`; some may be deleted then.
     */
    async deleteRounds(rounds: readonly number[], options: DeleteOptions = {}): Promise<number> {
        return this.#earlier.delete(rounds, this.#currentRound().current, options);
    }

    /**
     * Compares OVS with the table and repairs differences; returns the number of missing or wrong flows and groups and
     * of superfluous flows. Above 4,000 flows a comparison of all takes sixteen calls, see `Repair`. Concurrent changes
     * are left to their callers. A replay ends it, without anything repaired. Rejects with OpenFlowError.
     */
    async repair(): Promise<Repaired> {
        const { signal } = this.#repairs;
        try {
            return await this.#doubts.restoring(() => this.#compare(endingWith(signal, this.#link)));
        } catch (error) {
            if (!signal.aborted || !isAborted(error)) throw error;
            return { missing: 0, superfluous: 0 };
        }
    }

    async #compare(link: FlowLink): Promise<Repaired> {
        const { current, stamp } = this.#currentRound();
        const settled = this.#doubts.quiet();
        const { refused, ...repaired } = await this.#repair.run(link, current, stamp, this.#doubts.size === 0);
        await deleteGroups(link, this.#unwantedGroups(settled));
        this.#settle(settled);
        this.#doubtRefused(refused);
        return repaired;
    }

    async #replay(link: FlowLink): Promise<ReadonlySet<string>> {
        const { current, earlier, stamp } = this.#currentRound();
        if (earlier !== undefined) await this.#earlier.read(link, earlier, current);
        const [all, settled] = [this.#doubts.all(), this.#doubts.quiet()];
        const refused: RefusedOwner[] = [];
        let [flows, groups] = [0, 0];
        for (const bundle of replayBundles(this.#owners.all(), (owned) => stamp.contents(owned))) {
            refused.push(...(await addFlows(link, bundle)));
            for (const part of bundle) flows += part.flows.length;
            for (const part of bundle) groups += part.groups.length;
        }
        const deleted = await this.#deleteUndesired(link, all);
        this.#logger.info("flows replayed", { flows, groups, deleted });
        this.#settle(settled);
        return this.#doubtRefused(refused);
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
            const doubt = either(this.#doubts.get(owner), possible(this.#contentsOf(owned)));
            if (!this.#doubts.isUnderWay(owner)) this.#doubts.set(owner, doubt);
        }
        return new Set(refused.map(({ owned }) => owned.owner));
    }

    /** Makes the change in this table, before OVS. If it throws, it has made none. */
    #step(change: OwnerChange): Step {
        const { owner } = change;
        const before = this.#owners.get(owner);
        const doubtBefore = this.#doubts.get(owner);
        const since = this.#doubts.moment;
        const had = "flows" in change ? this.#contentsOf(before) : nothing;
        const after = this.#owners.put(owner, "flows" in change ? change.flows : before?.wanted);
        try {
            const contents = "flows" in change ? this.#contentsOf(after) : undefined;
            const made = "flows" in change ? this.#replaced(change, had, contents ?? nothing) : this.#changed(change);
            const doubt = either(doubtBefore, possible(had), {
                flows: [...made.added, ...made.removed],
                groups: possible(contents ?? nothing).groups,
            });
            if (!isNothing(doubt)) this.#doubts.set(owner, doubt);
            return { owner, before, after, doubtBefore, doubt, contents, since, ...made };
        } catch (error) {
            this.#owners.put(owner, before?.wanted);
            throw error;
        }
    }

    #replaced({ owner, whole: isWhole }: { owner: string; whole?: boolean }, had: Contents, has: Contents): Difference {
        const doubt = this.#doubts.get(owner);
        if (doubt === undefined && isWhole !== true) return difference(had, has);
        return whole(either(doubt, possible(had)), has);
    }

    #changed({ owner, added, removed }: Extract<OwnerChange, { readonly added: unknown }>): Difference {
        const { stamp } = this.#currentRound();
        const owned = this.#owners.get(owner);
        const nobodys = { groups: [], added: [], removed, removedGroups: [] };
        if (owned === undefined) return nobodys;
        const gone = stamp.identities(owned, removed);
        const doubt = this.#doubts.get(owner);
        if (doubt === undefined) return { ...nobodys, added: stamp.some(owned, added), removed: gone };
        return whole(either(doubt, { flows: gone, groups: [] }), this.#contentsOf(owned));
    }

    async #take(steps: readonly Step[], signal: AbortSignal | undefined): Promise<void> {
        const owners = steps.map(({ owner }) => owner);
        await this.#doubts.during(owners, async () => {
            try {
                await this.#sender.send(owners, modsOf(steps), signal);
            } catch (error) {
                const again = isErrorOf(OpenFlowError, error, "REFUSED")
                    ? withoutReliance(steps, this.#owners)
                    : undefined;
                if (again === undefined || isPartial(error)) throw error;
                await this.#sender.send(owners, modsOf(again), signal);
            }
            this.#settle(steps.map(({ owner, doubt }) => [owner, doubt]));
        });
    }

    /** Reverts the changes in the table; for owners that have changed since, only the remaining part. */
    #restore(steps: readonly Step[], error: unknown): void {
        for (const step of steps) {
            const { owner, before, after, doubt, doubtBefore } = step;
            if (this.#owners.get(owner) === after) this.#owners.put(owner, this.#lastAccepted(before)?.wanted);
            else if (after !== undefined) this.#refused.set(after, before);
            if (this.#isUnsure(step, error) || this.#doubts.get(owner) !== doubt) continue;
            this.#doubts.set(owner, doubtBefore);
            this.#free(owner, doubt, doubtBefore?.groups);
        }
    }

    /** Whether OVS may have a change that it refused: in part, or as something else sent it meanwhile. */
    #isUnsure({ since }: Step, error: unknown): boolean {
        return isPartial(error) || (!isAborted(error) && this.#doubts.isUncertainSince(since));
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
                const contents = this.#contentsOf(owned);
                const doubtBefore = this.#doubts.get(owner);
                const doubt = either(doubtBefore, possible(contents));
                this.#doubts.set(owner, doubt);
                const since = this.#doubts.moment;
                const made = whole(doubt, contents);
                return { owner, before: owned, after: owned, doubtBefore, doubt, contents, since, ...made };
            });
            // Includes later changes of these owners: if OVS refuses one before this comes, its call reverts it again.
            await this.#doubts.restoring(() => this.#take(back, signal));
        } catch (error) {
            this.#logger.warn("flows of a change that OVS refused in part stay until the next repair", {
                owners: owners.join(" "),
                reason: messageOf(error),
            });
        }
    }

    /** OVS has exactly the desired flows and groups of these owners. */
    #settle(settled: readonly Doubt[]): void {
        for (const [owner, doubt] of this.#doubts.settle(settled)) this.#free(owner, doubt);
    }

    /** Frees the groups that the owner does not want, except `kept`, once OVS has none of them. */
    #free(owner: string, { groups }: Possible, kept: readonly number[] = []): void {
        for (const id of this.#unwanted(owner, groups)) if (!kept.includes(id)) this.#numbers.free(id);
    }

    /** Groups that OVS may have of these owners and that they do not want; none if an owner has changed since. */
    #unwantedGroups(doubts: readonly Doubt[]): readonly number[] {
        const same = doubts.filter(([owner, doubt]) => this.#doubts.get(owner) === doubt);
        return same.flatMap(([owner, { groups }]) => this.#unwanted(owner, groups));
    }

    #unwanted(owner: string, groups: readonly number[]): readonly number[] {
        const owned = this.#owners.get(owner);
        if (groups.length === 0 || owned === undefined) return groups;
        const wanted = this.#currentRound().stamp.groupIds(owned);
        return groups.filter((id) => !wanted.has(id));
    }

    #contentsOf(owned: Owned | undefined): Contents {
        return owned === undefined ? nothing : this.#currentRound().stamp.contents(owned);
    }

    /** Deletes flows of this round that no owner wants, and then groups that OVS may have since before the replay. */
    async #deleteUndesired(link: FlowLink, doubts: readonly Doubt[]): Promise<number> {
        const { current } = this.#currentRound();
        const stats = await link.dumpFlows(ofRound(current));
        const stale = await undesired(await byKey(stats), this.#owners);
        await deleteFlows(link, current, stale);
        await deleteGroups(link, this.#unwantedGroups(doubts));
        return stale.length;
    }

    #currentRound(): Round {
        if (this.#round !== undefined) return this.#round;
        throw new FlowTableError("NO_ROUND", "internal", "flows are sent before the round is known");
    }
}
