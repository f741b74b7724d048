import { KeyedLock, sleep } from "@antrea/async";
import { AntreaError, isAborted, isErrorOf, messageOf } from "@antrea/errors";
import { Category, cookieOf, roundMask, withCookies, type FlowSet } from "@antrea/flows";
import { flowBodyKey, flowKey, OpenFlowError, type Flow, type FlowMod, type FlowStats } from "@antrea/openflow";
import { type Logger } from "@antrea/runtime";
import { inSlices } from "../../slices.ts";
import { byKey, FlowKeys } from "./flow-keys.ts";

/** What the table needs of a connection to OVS; the replay gets the same through the gate of the reconnect. */
export interface FlowLink {
    bundle(mods: readonly FlowMod[], options?: { readonly signal?: AbortSignal }): Promise<void>;
    dumpFlows(filter: { readonly cookie: bigint; readonly cookieMask: bigint }): Promise<readonly FlowStats[]>;
}

export interface FlowTableComponents {
    readonly link: FlowLink;
    readonly logger: Logger;
}

/** The cookie of a round with all other parts zero. */
function roundCookie(round: number): bigint {
    return BigInt(round) << 48n;
}

const categories: ReadonlySet<number> = new Set(Object.values(Category));

/** Whether a cookie has the form of ours: those of other programs usually have no upper bits, or all of them. */
function isOurCookie(cookie: bigint): boolean {
    const { round, category } = cookieOf(cookie);
    return round !== 0 && categories.has(category) && (cookie & 0xff_ffff_ffffn) === 0n;
}

/** OVS reads slower than it is told: nothing was sent, so it is told again a little later. */
const bufferFullPauseMs = 100;

/** What is sent in one bundle at most when everything is replayed: OVS applies a bundle in one turn of its main loop. */
const replayBundleSize = 2000;

class FlowTableError extends AntreaError<"ABORTED" | "NO_ROUND"> {}

/**
 * The desired flows of the bridge, by owner, and the way they get into OVS.
 *
 * The table is the truth: `set` and `remove` change it first and then OVS, so that a reconnect, which replays all of
 * it, can never bring back less or more than what is wanted. Flows carry the round of this process in their cookie;
 * an ADD with the match and priority of an older flow replaces it in place, and what the round lacks is deleted after.
 * Flows that carry none of our rounds are never touched.
 */
export class FlowTable {
    readonly #link: FlowLink;
    readonly #logger: Logger;
    readonly #owners = new Map<string, FlowSet>();
    /** By owner: flows that OVS may have, desired or not, because a change of them is under way or failed. */
    readonly #inDoubt = new Map<string, readonly Flow[]>();
    /** By owner: a change that is sent again must not come after a later one. */
    readonly #sending = new KeyedLock();
    #round: number | undefined;
    /** Replays are numbered as they begin; `#lastReplay` is the last one that was all done. */
    #replaysBegun = 0;
    #lastReplay = 0;
    #replayWaiters: { readonly begunAfter: number; readonly wake: () => void }[] = [];

    constructor(components: FlowTableComponents) {
        this.#link = components.link;
        this.#logger = components.logger;
    }

    /** Sets the round (1..65535) that all cookies carry; called once, before the first replay. */
    useRound(round: number): void {
        this.#round = round;
    }

    /** How many flows are desired. */
    get size(): number {
        let count = 0;
        for (const set of this.#owners.values()) count += set.flows.length;
        return count;
    }

    /** The desired flows of one owner; empty when it has none. */
    flowsOf(owner: string): readonly Flow[] {
        const set = this.#owners.get(owner);
        return set === undefined ? [] : withCookies(set, this.#currentRound());
    }

    /** Makes these the flows of the owner without sending them: before the first replay, which brings them into OVS. */
    stage(owner: string, set: FlowSet): void {
        this.#owners.set(owner, set);
    }

    /**
     * Makes these the flows of the owner and waits until OVS has them. Idempotent; calls for one owner reach OVS in their
     * order. When OVS is away it waits for the reconnect's replay, which carries them, until the signal ends.
     */
    async set(owner: string, set: FlowSet, signal?: AbortSignal): Promise<void> {
        const before = this.#owners.get(owner);
        const flowsBefore = this.#maybeInSwitch(owner);
        this.#owners.set(owner, set);
        try {
            await this.#change(owner, flowsBefore, signal);
        } catch (error) {
            // Refused by OVS: what it has is what it had. An abort leaves them desired: the caller removes or repeats.
            // A later call for the owner has said what is desired since.
            if (!isAborted(error) && this.#owners.get(owner) === set) {
                if (before === undefined) this.#owners.delete(owner);
                else this.#owners.set(owner, before);
            }
            if (isPartial(error)) await this.#takeBack(owner, signal);
            throw error;
        }
    }

    /**
     * Removes all flows of the owner; what OVS cannot be told now, the replay after the reconnect makes good. Resolves when
     * OVS has none of them, also those that an earlier call could not remove.
     */
    async remove(owner: string, signal?: AbortSignal): Promise<void> {
        const before = this.#maybeInSwitch(owner);
        this.#owners.delete(owner);
        await this.#change(owner, before, signal);
    }

    #maybeInSwitch(owner: string): readonly Flow[] {
        const inDoubt = this.#inDoubt.get(owner);
        if (inDoubt === undefined) return this.flowsOf(owner);
        const all = [...inDoubt, ...this.flowsOf(owner)];
        return [...new Map(all.map((flow) => [flowKey(flow), flow])).values()];
    }

    /** Makes what OVS has of the owner what is desired. */
    async #change(owner: string, before: readonly Flow[], signal: AbortSignal | undefined): Promise<void> {
        const after = this.flowsOf(owner);
        const inDoubt = [...before, ...after];
        if (inDoubt.length === 0) return;
        this.#inDoubt.set(owner, inDoubt);
        await this.#sendFor(owner, difference(before, after), signal);
        if (this.#inDoubt.get(owner) === inDoubt) this.#inDoubt.delete(owner);
    }

    /**
     * Puts every desired flow into OVS again and deletes those of this round that are not desired. To be called after
     * each connect, before anything else is sent.
     */
    async replay(link: FlowLink): Promise<void> {
        this.#replaysBegun += 1;
        const begun = this.#replaysBegun;
        const settled = [...this.#inDoubt];
        const bundles = this.#bundles();
        for (const flows of bundles) await link.bundle(flows.map((flow) => ({ command: "add", flow })));
        const deleted = await this.#deleteUndesired(link, this.#currentRound());
        this.#logger.info("flows replayed", { flows: bundles.flat().length, deleted });
        this.#noLongerInDoubt(settled);
        this.#lastReplay = begun;
        const carried = this.#replayWaiters.filter(({ begunAfter }) => begunAfter < begun);
        this.#replayWaiters = this.#replayWaiters.filter(({ begunAfter }) => begunAfter >= begun);
        for (const { wake } of carried) wake();
    }

    /**
     * Deletes what earlier processes left: flows that carry one of the given rounds. None is given after the database was
     * lost with them: OVS may have kept the flows, so their cookies tell.
     */
    async deleteRounds(
        rounds: readonly number[],
        { except = () => false }: { readonly except?: (flow: FlowStats) => boolean } = {},
    ): Promise<number> {
        let deleted = 0;
        for (const round of rounds.length > 0 ? rounds : await this.#roundsInSwitch()) {
            if (round !== this.#currentRound()) deleted += await this.#deleteUndesired(this.#link, round, except);
        }
        return deleted;
    }

    /**
     * Compares OVS with the table and puts right what differs; returns how many flows were missing or wrong, and how many
     * superfluous. What changes while it compares is left to those who change it.
     */
    async repair(): Promise<{ readonly missing: number; readonly superfluous: number }> {
        const settled = [...this.#inDoubt];
        const owners = new Map(this.#owners);
        const round = this.#currentRound();
        const present = await byKey(await this.#dumpRound(this.#link, round));
        const keys = new FlowKeys();
        const wrong: { readonly owner: string; readonly set: FlowSet; readonly flow: Flow }[] = [];
        await inSlices(owners, ([owner, set]) => {
            if (this.#owners.get(owner) !== set) return;
            const texts = keys.of(set);
            set.flows.forEach((flow, index) => {
                const found = present.get(texts[index] ?? "");
                const isRight = found !== undefined && flowBodyKey(found) === flowBodyKey(flow);
                if (!isRight) wrong.push({ owner, set, flow });
            });
        });
        const missing = wrong
            .filter(({ owner, set }) => this.#owners.get(owner) === set)
            .flatMap(({ set, flow }) => withCookies({ category: set.category, flows: [flow] }, round));
        if (missing.length > 0) await this.#link.bundle(missing.map((flow) => ({ command: "add", flow })));
        const stale = [...(await this.#undesired(present, keys)).values()];
        await this.#deleteFlows(this.#link, round, stale);
        this.#noLongerInDoubt(settled);
        return { missing: missing.length, superfluous: stale.length };
    }

    /** OVS has just what is desired of them: a later change must not delete what another owner got since. */
    #noLongerInDoubt(settled: readonly (readonly [string, readonly Flow[]])[]): void {
        for (const [owner, flows] of settled) if (this.#inDoubt.get(owner) === flows) this.#inDoubt.delete(owner);
    }

    async #deleteUndesired(
        link: FlowLink,
        round: number,
        except: (flow: FlowStats) => boolean = () => false,
    ): Promise<number> {
        const stats = await this.#dumpRound(link, round);
        const isCurrent = round === this.#currentRound();
        const undesired = isCurrent ? [...(await this.#undesired(await byKey(stats))).values()] : stats;
        const stale = undesired.filter((flow) => !except(flow));
        await this.#deleteFlows(link, round, stale);
        return stale.length;
    }

    /** Those of the flows that nobody wants now; to be deleted in the same turn. */
    async #undesired(
        present: ReadonlyMap<string, FlowStats>,
        keys: FlowKeys = new FlowKeys(),
    ): Promise<ReadonlyMap<string, FlowStats>> {
        await inSlices(this.#owners.values(), (set) => void keys.of(set));
        // Read after the dump, and all at once: what became desired meanwhile must not be deleted.
        const undesired = new Map(present);
        for (const set of this.#owners.values()) for (const key of keys.of(set)) undesired.delete(key);
        return undesired;
    }

    async #deleteFlows(link: FlowLink, round: number, stale: readonly FlowStats[]): Promise<void> {
        if (stale.length === 0) return;
        // Strict and bound to the cookie: a flow that was replaced in place meanwhile carries another round and stays.
        await link.bundle(
            stale.map((flow) => ({
                command: "delete_strict",
                flow: {
                    table: flow.table,
                    priority: flow.priority,
                    match: flow.match,
                    actions: [],
                    cookie: roundCookie(round),
                },
                cookieMask: roundMask,
            })),
        );
    }

    async #roundsInSwitch(): Promise<readonly number[]> {
        const all = await this.#link.dumpFlows({ cookie: 0n, cookieMask: 0n });
        const ours = all.map(({ cookie }) => cookie).filter(isOurCookie);
        return [...new Set(ours.map((cookie) => cookieOf(cookie).round))];
    }

    #dumpRound(link: FlowLink, round: number): Promise<readonly FlowStats[]> {
        return link.dumpFlows({ cookie: roundCookie(round), cookieMask: roundMask });
    }

    async #sendFor(owner: string, mods: readonly FlowMod[], signal: AbortSignal | undefined): Promise<void> {
        if (mods.length > 0) await this.#sending.run(owner, () => this.#send(mods, signal), signal);
    }

    /** What OVS took of a change that it refused in part goes again, and what the owner had before comes back. */
    async #takeBack(owner: string, signal: AbortSignal | undefined): Promise<void> {
        try {
            await this.#change(owner, this.#maybeInSwitch(owner), signal);
        } catch (error) {
            this.#logger.warn("flows of a change that OVS refused in part stay until the next repair", {
                owner,
                reason: messageOf(error),
            });
        }
    }

    async #send(mods: readonly FlowMod[], signal: AbortSignal | undefined): Promise<void> {
        for (;;) {
            // A replay that has begun already read the table before it had these flows.
            const begunAfter = this.#replaysBegun;
            try {
                return await this.#link.bundle(mods, signal === undefined ? {} : { signal });
            } catch (error) {
                if (!(error instanceof AntreaError)) throw error;
                if (error.fault === "timeout") {
                    // The connection stands and OVS is only slow: no replay will come, so it is told again.
                    this.#logger.warn("OVS did not answer in time, sending the flows again", {
                        reason: messageOf(error),
                    });
                    continue;
                }
                if (error.fault !== "environment") throw error;
                if (isErrorOf(OpenFlowError, error, "BUFFER_FULL")) {
                    await sleep(bufferFullPauseMs, signal);
                    continue;
                }
                this.#logger.debug("OVS is away, waiting for the replay", { reason: messageOf(error) });
                return await this.#replayAfter(begunAfter, signal);
            }
        }
    }

    #replayAfter(begunAfter: number, signal: AbortSignal | undefined): Promise<void> {
        if (this.#lastReplay > begunAfter) return Promise.resolve();
        return new Promise((resolve, reject) => {
            const aborted = (): void => {
                this.#replayWaiters = this.#replayWaiters.filter((waiter) => waiter.wake !== wake);
                reject(
                    new FlowTableError("ABORTED", "aborted", "stopped waiting for OVS to come back", {
                        cause: signal?.reason,
                    }),
                );
            };
            const wake = (): void => {
                signal?.removeEventListener("abort", aborted);
                resolve();
            };
            if (signal?.aborted === true) return aborted();
            signal?.addEventListener("abort", aborted, { once: true });
            this.#replayWaiters.push({ begunAfter, wake });
        });
    }

    #currentRound(): number {
        if (this.#round === undefined)
            throw new FlowTableError("NO_ROUND", "internal", "flows are sent before the round is known");
        return this.#round;
    }

    /**
     * All desired flows in bundles, each of which OVS applies at once. The pipeline comes first and whole, for it has the
     * flows that drop; and what an owner lets through comes together with what guards it, unless it is too much for one.
     */
    #bundles(): readonly (readonly Flow[])[] {
        const isBase = ([, { category }]: readonly [string, FlowSet]): boolean => category === Category.default;
        const owners = [...this.#owners];
        const ordered = [...owners.filter(isBase), ...owners.filter((one) => !isBase(one))];
        const bundles: Flow[][] = [];
        for (const [owner] of ordered) {
            const flows = this.flowsOf(owner);
            for (let start = 0; start < flows.length; start += replayBundleSize) {
                const part = flows.slice(start, start + replayBundleSize);
                const last = bundles.at(-1);
                if (last === undefined || last.length + part.length > replayBundleSize) bundles.push(part);
                else last.push(...part);
            }
        }
        return bundles;
    }
}

/** OVS could not read one message of a bundle and committed the others. */
function isPartial(error: unknown): boolean {
    return error instanceof OpenFlowError && error.details.partial === true;
}

/** The messages that turn one list of flows into another; additions first, so that nothing is missing in between. */
function difference(before: readonly Flow[], after: readonly Flow[]): FlowMod[] {
    if (before.length === 0) return after.map((flow) => ({ command: "add", flow }));
    const kept = new Set(after.map((flow) => flowKey(flow)));
    return [
        ...after.map((flow): FlowMod => ({ command: "add", flow })),
        ...before
            .filter((flow) => !kept.has(flowKey(flow)))
            .map((flow): FlowMod => ({ command: "delete_strict", flow: { ...flow, actions: [] } })),
    ];
}
