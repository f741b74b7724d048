import { flowBodyKey, flowKey, type Flow, type FlowStats, type Group } from "@antrea/openflow";
import { inSlices } from "../../slices.ts";
import { addFlows, type RefusedOwner } from "./add-flows.ts";
import { deleteFlows, ofRound, roundCookie, type CookieFilter, type FlowLink } from "./flow-link.ts";
import { addCounts, type Owned, type OwnedFlows } from "./owned-flows.ts";
import { replayBundles } from "./replay-order.ts";
import { nothing, type Contents, type Stamp } from "./stamp.ts";
import { byKey, undesired } from "./undesired.ts";
import { wrongGroups } from "./wrong-groups.ts";

/** With up to this many desired flows all flows and groups of OVS are read each time. */
const readWholeUpTo = 4_000;
/** Above that, if the counts match, the owners of one of this many parts, by the lowest bits of their object ID. */
const parts = 16;

/** The scope of one comparison: flows of one table or of all, of the owners of one part or of all. */
interface Scope {
    readonly table?: number;
    readonly part?: number;
}

/** The numbers of flows and groups that one repair has corrected; both 0 if OVS had the desired ones. */
export interface Repaired {
    /** Flows and groups that were missing or wrong, including those that OVS refuses. */
    readonly missing: number;
    /** Flows of the round that no owner wants, now deleted. */
    readonly superfluous: number;
}

/** The result of a repair, with the owners whose missing or wrong flows OVS refuses. */
export interface RepairedOwners extends Repaired {
    readonly refused: readonly RefusedOwner[];
}

/** What a comparison has found missing or wrong of one owner. */
interface Missing {
    readonly flows: Flow[];
    readonly groups: Group[];
}

/**
 * Compares OVS with the desired flows and groups of a round and repairs differences. Up to 4,000 desired flows are all
 * compared in each call; of more, those of each table whose flow count differs and a sixteenth of all others, so that
 * every flow is compared within sixteen calls. Groups are not counted: OVS deletes a group with the flows that use it,
 * so that the count of flows shows it. Holds no timer: the caller repeats `run`.
 */
export class Repair {
    readonly #owners: OwnedFlows;
    #nextPart = 0;

    /** @param owners the desired flows, which may change during a repair */
    constructor(owners: OwnedFlows) {
        this.#owners = owners;
    }

    /**
     * Does one comparison and repair. Rejects with OpenFlowError; a part may be repaired then.
     *
     * @param isCertain no change is in progress or failed, so that matching counts are conclusive
     */
    async run(link: FlowLink, round: number, stamp: Stamp, isCertain: boolean): Promise<RepairedOwners> {
        const scopes = this.#owners.size <= readWholeUpTo || !isCertain ? [{}] : await this.#scopes(link, round);
        let [missing, superfluous] = [0, 0];
        const refused: RefusedOwner[] = [];
        for (const scope of scopes) {
            const repaired = await this.#compare(link, scope, round, stamp);
            missing += repaired.missing;
            superfluous += repaired.superfluous;
            refused.push(...repaired.refused);
        }
        return { missing, superfluous, refused };
    }

    async #scopes(link: FlowLink, round: number): Promise<readonly Scope[]> {
        const wanted = new Map<number, number>();
        await inSlices(this.#owners.all(), (owned) => addCounts(wanted, owned));
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

    async #compare(link: FlowLink, scope: Scope, round: number, stamp: Stamp): Promise<RepairedOwners> {
        const owners = this.#owners;
        const present = await byKey(await link.dumpFlows(filterOf(scope, round)));
        const inScope = owners
            .all()
            .filter(({ objectId }) => scope.part === undefined || objectId % parts === scope.part);
        const groups = scope.table === undefined ? await wrongGroups(link, inScope, stamp) : [];
        const { found, unexplained } = await this.#differences(scope, { present, inScope, stamp });
        for (const { owned, group } of groups) missingOf(found, owned).groups.push(group);
        // Changes that an owner made meanwhile are left to their calls.
        const missing = [...found].filter(([owned]) => owners.isCurrent(owned));
        const refused = await this.#add(link, new Map(missing), stamp);
        const stale = await undesired(unexplained, owners);
        await deleteFlows(link, round, stale);
        return {
            missing: missing.reduce((sum, [, one]) => sum + one.flows.length + one.groups.length, 0),
            superfluous: stale.length,
            refused,
        };
    }

    async #add(link: FlowLink, missing: ReadonlyMap<Owned, Missing>, stamp: Stamp): Promise<readonly RefusedOwner[]> {
        const contentsOf = (owned: Owned): Contents => withGroups(owned, missing.get(owned) ?? nothing, stamp);
        const refused: RefusedOwner[] = [];
        for (const bundle of replayBundles([...missing.keys()], contentsOf)) {
            // Unlike those of a replay, these come between changes: after a change of its owner, which may be complete,
            // nobody would remove what the owner had before it.
            refused.push(...(await addFlows(link, bundle, (owned) => this.#owners.isCurrent(owned))));
        }
        return refused;
    }

    async #differences(
        { table }: Scope,
        given: {
            readonly present: ReadonlyMap<string, FlowStats>;
            readonly inScope: readonly Owned[];
            readonly stamp: Stamp;
        },
    ): Promise<{
        readonly found: Map<Owned, Missing>;
        readonly unexplained: ReadonlyMap<string, FlowStats>;
    }> {
        const { present, inScope, stamp } = given;
        const unexplained = new Map(present);
        const found = new Map<Owned, Missing>();
        await inSlices(flowsOf(inScope, stamp), ({ owned, flow }) => {
            if (!this.#owners.isCurrent(owned) || (table !== undefined && flow.table !== table)) return;
            const key = flowKey(flow);
            const known = present.get(key);
            unexplained.delete(key);
            if (known === undefined || flowBodyKey(known) !== flowBodyKey(flow)) {
                missingOf(found, owned).flows.push(flow);
            }
        });
        return { found, unexplained };
    }
}

function missingOf(found: Map<Owned, Missing>, owned: Owned): Missing {
    const known = found.get(owned) ?? { flows: [], groups: [] };
    found.set(owned, known);
    return known;
}

/** A flow that is missing was deleted with its group, perhaps: OVS refuses it without the group. */
function withGroups(owned: Owned, { flows, groups }: Contents, stamp: Stamp): Contents {
    return { flows, groups: flows.length > 0 ? stamp.groups(owned) : groups };
}

/** Flow by flow: a source may change between two of them and is then outdated. */
function* flowsOf(owners: readonly Owned[], stamp: Stamp): Generator<{ readonly owned: Owned; readonly flow: Flow }> {
    for (const owned of owners) for (const flow of stamp.flows(owned)) yield { owned, flow };
}

function filterOf({ table, part }: Scope, round: number): CookieFilter {
    const all = ofRound(round);
    const ofPart =
        part === undefined
            ? all
            : { cookie: roundCookie(round) | BigInt(part), cookieMask: all.cookieMask | BigInt(parts - 1) };
    return table === undefined ? ofPart : { ...ofPart, table };
}
