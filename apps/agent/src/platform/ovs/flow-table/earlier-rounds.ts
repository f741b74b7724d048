import { isErrorOf } from "@antrea/errors";
import { Category, cookieOf, reservedMask } from "@antrea/flows";
import { OpenFlowError, type FlowStats, type Group } from "@antrea/openflow";
import { deleteFlows, deleteGroups, ofCategory, ofRound, type FlowLink } from "./flow-link.ts";
import { canDescribe, isOfRound } from "./group-numbers.ts";

/** Flows of Services of earlier starts of the agent, and groups that they use, as they were before the first replay. */
export interface EarlierState {
    readonly flows: readonly FlowStats[];
    /** With ids as in the actions of these flows. Groups of more than 256 buckets are missing. */
    readonly groups: readonly Group[];
}

/** Who wants to know what earlier starts had in OVS, such as for what has vanished since. */
export interface EarlierReader {
    /** Whether `read` needs the groups that this flow uses: each costs a request. */
    needsGroups(flow: FlowStats): boolean;
    /** Called once, before a flow of this start replaces one of them; it keeps what it needs. */
    read(state: EarlierState): void;
}

/** Selects the flows to keep, and ends the wait. */
export interface DeleteOptions {
    readonly except?: (flow: FlowStats) => boolean;
    readonly signal?: AbortSignal | undefined;
}

const categories: ReadonlySet<number> = new Set(Object.values(Category));

/**
 * Whether a cookie has the format of this agent: those of other programs usually have no upper bits, or all of them.
 * Flows that OVS learned for a Service have round 0: nobody deletes them.
 */
function isOurCookie(value: bigint): boolean {
    const { round, category } = cookieOf(value);
    return round !== 0 && categories.has(category) && (value & reservedMask) === 0n;
}

/**
 * What earlier starts of the agent have left in OVS, by their rounds: reads it before it is replaced, and deletes the
 * rest. If the database was lost, no rounds are given: OVS may have kept the flows, which are then identified by their
 * cookies.
 */
export class EarlierRounds {
    readonly #link: FlowLink;
    readonly #readers: EarlierReader[] = [];
    #isRead = false;
    /** Ids of the groups that flows of earlier rounds used. */
    #groups = new Set<number>();
    #canListGroups = true;

    constructor(link: FlowLink) {
        this.#link = link;
    }

    /** Adds a reader; to be called before the first replay. */
    addReader(reader: EarlierReader): void {
        this.#readers.push(reader);
    }

    /**
     * Reads the flows of Services, once, before the first replay. Rejects with OpenFlowError; the next call reads then.
     */
    async read(link: FlowLink, rounds: readonly number[], current: number): Promise<void> {
        if (this.#isRead) return;
        const filter = ofCategory(Category.service, rounds.length === 1 ? rounds[0] : undefined);
        const isEarlier = ({ cookie }: FlowStats): boolean => {
            const { round } = cookieOf(cookie);
            return isOurCookie(cookie) && round !== current && (rounds.length === 0 || rounds.includes(round));
        };
        const flows = (await link.dumpFlows(filter)).filter(isEarlier);
        const needed = flows.filter((flow) => this.#readers.some((reader) => reader.needsGroups(flow)));
        const groups: Group[] = [];
        for (const id of groupsOf(needed)) if (canDescribe(id)) groups.push(...(await link.dumpGroups(id)));
        this.#isRead = true;
        this.#groups = groupsOf(flows);
        for (const reader of this.#readers) reader.read({ flows, groups });
    }

    /**
     * Deletes the flows of these rounds but those of `except`, and, without `except`, then their groups. Resolves with
     * the number of flows. Rejects with OpenFlowError, on abort `ABORTED`; some may be deleted then.
     */
    async delete(rounds: readonly number[], current: number, options: DeleteOptions): Promise<number> {
        const { except = () => false, signal } = options;
        const found = rounds.length > 0 ? rounds : await this.#roundsInSwitch(signal);
        const earlier = found.filter((round) => round !== current);
        let deleted = 0;
        for (const round of earlier) {
            const all = await this.#link.dumpFlows(ofRound(round), { signal });
            const stale = all.filter((flow) => !except(flow));
            for (const id of groupsOf(stale)) this.#groups.add(id);
            await deleteFlows(this.#link, round, stale, signal);
            deleted += stale.length;
        }
        if (options.except !== undefined) return deleted;
        // A start that was killed while it replaced the flows of another one has left groups that no flow uses.
        const unused = rounds.length === 1 || earlier.length === 0 ? [] : await this.#listGroups(signal);
        const ids = unused.filter((id) => earlier.some((round) => isOfRound(id, round)));
        const stale = [...this.#groups, ...ids].filter((id) => !isOfRound(id, current));
        await deleteGroups(this.#link, new Set(stale), signal);
        this.#groups.clear();
        return deleted;
    }

    /** The ids of all groups; [] if a list has ended the connection, since the next one would too. */
    async #listGroups(signal: AbortSignal | undefined): Promise<readonly number[]> {
        if (!this.#canListGroups) return [];
        try {
            return (await this.#link.groupCounters(undefined, { signal })).map(({ id }) => id);
        } catch (error) {
            this.#canListGroups = !isErrorOf(OpenFlowError, error, "DISCONNECTED", "MALFORMED");
            throw error;
        }
    }

    async #roundsInSwitch(signal: AbortSignal | undefined): Promise<readonly number[]> {
        const all = await this.#link.dumpFlows({ cookie: 0n, cookieMask: 0n }, { signal });
        const ours = all.map(({ cookie }) => cookie).filter(isOurCookie);
        return [...new Set(ours.map((cookie) => cookieOf(cookie).round))];
    }
}

function groupsOf(flows: readonly FlowStats[]): Set<number> {
    const actions = flows.flatMap((flow) => flow.actions);
    return new Set(actions.flatMap((action) => (action.type === "group" ? [action.group] : [])));
}
