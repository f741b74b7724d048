import { cookie } from "@antrea/flows";
import type { Action, Flow, Group } from "@antrea/openflow";
import { groupIdOf, type GroupNumbers } from "./group-numbers.ts";
import { wantedFlows, wantedGroups, type FlowIdentity, type Owned } from "./owned-flows.ts";

/** Flows and groups of one owner as OVS gets them: with their cookies, and with ids of groups in OVS. */
export interface Contents {
    readonly flows: readonly Flow[];
    readonly groups: readonly Group[];
}

/** The contents of no owner. */
export const nothing: Contents = { flows: [], groups: [] };

/** The largest id (OFPG_MAX): no round has it, so that OVS refuses a flow with a group that its owner has not. */
const noGroup = 0xffffff00;

/** Makes what OVS gets of what the owners want, in one round (1..65535). */
export class Stamp {
    readonly #round: number;
    readonly #numbers: GroupNumbers;
    readonly #ids = new WeakMap<Owned, ReadonlySet<number>>();

    constructor(round: number, numbers: GroupNumbers) {
        this.#round = round;
        this.#numbers = numbers;
    }

    /** All flows and groups of the owner. */
    contents(owned: Owned): Contents {
        const groups = this.#groups(owned);
        return { flows: [...this.#stamped(owned, wantedFlows(owned.wanted), groups)], groups: [...groups.values()] };
    }

    /** All flows of the owner, each generated when it is asked for. */
    flows(owned: Owned): Iterable<Flow> {
        return this.#stamped(owned, wantedFlows(owned.wanted), this.#groups(owned));
    }

    /** Some flows of an owner without groups. */
    some(owned: Owned, flows: readonly Flow[]): readonly Flow[] {
        return [...this.#stamped(owned, flows, new Map())];
    }

    /** All groups of the owner. */
    groups(owned: Owned): readonly Group[] {
        return [...this.#groups(owned).values()];
    }

    /** The ids in OVS of all groups of the owner. */
    groupIds(owned: Owned): ReadonlySet<number> {
        return this.#ids.get(owned) ?? new Set(this.groups(owned).map(({ id }) => id));
    }

    /** Identities of flows of the owner, with its cookie. */
    identities(owned: Owned, flows: readonly FlowIdentity[]): readonly FlowIdentity[] {
        const value = this.#cookieOf(owned);
        return flows.map(({ table, priority, match }) => ({ table, priority, match, cookie: value }));
    }

    *#stamped(owned: Owned, flows: Iterable<Flow>, groups: ReadonlyMap<number, Group>): Generator<Flow> {
        const value = this.#cookieOf(owned);
        const toGroup = (action: Action): Action =>
            action.type === "group" ? { type: "group", group: groups.get(action.group)?.id ?? noGroup } : action;
        for (const flow of flows) {
            const usesGroup = flow.actions.some(({ type }) => type === "group");
            yield { ...flow, cookie: value, actions: usesGroup ? flow.actions.map(toGroup) : flow.actions };
        }
    }

    /** The groups by their ids in the owner. */
    #groups(owned: Owned): ReadonlyMap<number, Group> {
        const groups = new Map<number, Group>();
        for (const group of wantedGroups(owned.wanted)) {
            groups.set(group.id, { ...group, id: groupIdOf(this.#round, this.#numbers.take(owned.objectId, group)) });
        }
        this.#ids.set(owned, new Set([...groups.values()].map(({ id }) => id)));
        return groups;
    }

    #cookieOf({ wanted, objectId }: Owned): bigint {
        return cookie(this.#round, wanted.category, objectId);
    }
}
