import type { FlowSet } from "@antrea/flows";
import { flowBodyKey, flowKey, type Flow, type FlowStats } from "@antrea/openflow";
import { inSlices } from "../../slices.ts";
import { addFlows, type RefusedOwner } from "./add-flows.ts";
import { deleteFlows, ofRound, roundCookie, type CookieFilter, type FlowLink } from "./flow-link.ts";
import { countsOf, stamped, wantedFlows, type Owned, type OwnedFlows } from "./owned-flows.ts";

/** With up to this many desired flows all flows of OVS are read each time. */
const readWholeUpTo = 4_000;
/** Above that, if the counts match, the owners of one of this many parts, by the lowest bits of their object ID. */
const parts = 16;

/** Dependencies of Repair; `owners` are the desired flows, which may change during a repair. */
export interface RepairComponents {
    readonly link: FlowLink;
    readonly owners: OwnedFlows;
}

/** The scope of one comparison: flows of one table or of all, of the owners of one part or of all. */
interface Scope {
    readonly table?: number;
    readonly part?: number;
}

/** The numbers of flows that one repair has corrected; both 0 if OVS had the desired flows. */
export interface Repaired {
    /** Flows that were missing or wrong, including those that OVS refuses. */
    readonly missing: number;
    /** Flows of the round that no owner wants, now deleted. */
    readonly superfluous: number;
}

/** The result of a repair, with the owners whose missing or wrong flows OVS refuses. */
export interface RepairedOwners extends Repaired {
    readonly refused: readonly RefusedOwner[];
}

/**
 * Compares OVS with the desired flows of a round and repairs differences. Up to 4,000 desired flows are all compared in
 * each call; of more, those of each table whose flow count differs and a sixteenth of all others, so that every flow is
 * compared within sixteen calls. Holds no timer: the caller repeats `run`.
 */
export class Repair {
    readonly #components: RepairComponents;
    #nextPart = 0;

    constructor(components: RepairComponents) {
        this.#components = components;
    }

    /**
     * Does one comparison and repair. Rejects with OpenFlowError; a part may be repaired then.
     *
     * @param isCertain no change is in progress or failed, so that matching counts are conclusive
     */
    async run(round: number, isCertain: boolean): Promise<RepairedOwners> {
        const { owners } = this.#components;
        const scopes = owners.size <= readWholeUpTo || !isCertain ? [{}] : await this.#scopes(round);
        let [missing, superfluous] = [0, 0];
        const refused: RefusedOwner[] = [];
        for (const scope of scopes) {
            const repaired = await this.#compare(scope, round);
            missing += repaired.missing;
            superfluous += repaired.superfluous;
            refused.push(...repaired.refused);
        }
        return { missing, superfluous, refused };
    }

    async #scopes(round: number): Promise<readonly Scope[]> {
        const { link, owners } = this.#components;
        const wanted = countsOf(owners.all());
        const tables = [...wanted.keys()];
        const filter = ofRound(round);
        const [total, ...counts] = await Promise.all([
            link.countFlows(filter),
            ...tables.map((table) => link.countFlows({ ...filter, table })),
        ]);
        const found = counts.reduce((sum, { flows }) => sum + flows, 0);
        // Flows in tables that should have none.
        if (total.flows !== found) return [{}];
        const wrong = tables.filter((table, at) => counts[at]?.flows !== wanted.get(table));
        this.#nextPart = (this.#nextPart + 1) % parts;
        return [...wrong.map((table) => ({ table })), { part: this.#nextPart }];
    }

    async #compare(scope: Scope, round: number): Promise<RepairedOwners> {
        const { link } = this.#components;
        const present = await byKey(await link.dumpFlows(filterOf(scope, round)));
        const { wrong, unexplained } = await this.#differences(scope, present);
        // Changes that an owner made meanwhile are left to their calls.
        const missing = wrong.filter(({ owned }) => this.#isCurrent(owned));
        const ofOwners = [...Map.groupBy(missing, ({ owned }) => owned)].map(([owned, parts]) => ({
            owned,
            flows: stamped(
                owned,
                parts.map(({ flow }) => flow),
                round,
            ),
        }));
        const refused = missing.length > 0 ? await addFlows(link, ofOwners) : [];
        const stale = await undesired(unexplained, this.#components.owners);
        await deleteFlows(link, round, stale);
        return { missing: missing.length, superfluous: stale.length, refused };
    }

    async #differences(
        { table, part }: Scope,
        present: ReadonlyMap<string, FlowStats>,
    ): Promise<{
        readonly wrong: readonly { readonly owned: Owned; readonly flow: Flow }[];
        readonly unexplained: ReadonlyMap<string, FlowStats>;
    }> {
        const unexplained = new Map(present);
        const wrong: { readonly owned: Owned; readonly flow: Flow }[] = [];
        const owners = this.#components.owners
            .all()
            .filter(({ objectId }) => part === undefined || objectId % parts === part);
        await inSlices(flowsOf(owners), ({ owned, flow }) => {
            if (!this.#isCurrent(owned) || (table !== undefined && flow.table !== table)) return;
            const key = flowKey(flow);
            const found = present.get(key);
            unexplained.delete(key);
            if (found === undefined || flowBodyKey(found) !== flowBodyKey(flow)) wrong.push({ owned, flow });
        });
        return { wrong, unexplained };
    }

    #isCurrent(owned: Owned): boolean {
        return this.#components.owners.get(owned.owner) === owned;
    }
}

/** Flow by flow: a source may change between two of them and is then outdated. */
function* flowsOf(owners: readonly Owned[]): Generator<{ readonly owned: Owned; readonly flow: Flow }> {
    for (const owned of owners) for (const flow of wantedFlows(owned.wanted)) yield { owned, flow };
}

/** Indexes flows of OVS by `flowKey` (table, priority and match), in slices that do not block the event loop. */
export async function byKey(stats: readonly FlowStats[]): Promise<Map<string, FlowStats>> {
    const found = new Map<string, FlowStats>();
    await inSlices(stats, (flow) => void found.set(flowKey(flow), flow));
    return found;
}

/**
 * The flows of `present`, which is indexed by `flowKey`, that no owner wants when it resolves; to be deleted in the
 * same turn of the event loop, as an owner may want them later.
 */
export async function undesired(
    present: ReadonlyMap<string, FlowStats>,
    owners: OwnedFlows,
): Promise<readonly FlowStats[]> {
    if (present.size === 0) return [];
    const keys = new WeakMap<object, readonly string[]>();
    const keysOf = ({ wanted }: Owned): readonly string[] => {
        // Only a list of flows is guaranteed to be the same on each read.
        const list: FlowSet | undefined = "counts" in wanted ? undefined : wanted;
        const known = list && keys.get(list);
        if (known !== undefined) return known;
        const made = Array.from(wantedFlows(wanted), (flow) => flowKey(flow));
        if (list !== undefined) keys.set(list, made);
        return made;
    };
    await inSlices(owners.all(), (owned) => void keysOf(owned));
    // Read after the dump, and synchronously: flows that became desired meanwhile must not be deleted.
    const left = new Map(present);
    for (const owned of owners.all()) for (const key of keysOf(owned)) left.delete(key);
    return [...left.values()];
}

function filterOf({ table, part }: Scope, round: number): CookieFilter {
    const all = ofRound(round);
    const ofPart =
        part === undefined
            ? all
            : { cookie: roundCookie(round) | BigInt(part), cookieMask: all.cookieMask | BigInt(parts - 1) };
    return table === undefined ? ofPart : { ...ofPart, table };
}
