import {
    flowKey,
    OpenFlowError,
    type BundleMod,
    type Flow,
    type FlowMod,
    type Group,
    type GroupMod,
} from "@antrea/openflow";

const allBits = (1n << 64n) - 1n;

/**
 * The flows and groups of a switch, as Open vSwitch changes them: an addition replaces the flow of the same table,
 * priority and match, a strict deletion touches that flow alone and only if its cookie fits. A flow needs the groups that
 * it uses, and goes with them; buckets come and go by their ids.
 */
export class FakeTables {
    readonly flows: Map<string, Flow>;
    readonly groups: Map<number, Group>;

    constructor(flows: Iterable<[string, Flow]> = [], groups: Iterable<[number, Group]> = []) {
        this.flows = new Map(flows);
        this.groups = new Map(groups);
    }

    /**
     * The tables after these changes, in their order; throws OpenFlowError `REFUSED` for one that is not possible.
     * Open vSwitch 3.1 ends with an assertion when it takes back a deletion of a group that took flows along: here that
     * is a TypeError.
     */
    after(mods: readonly BundleMod[]): FakeTables {
        const tables = new FakeTables(this.flows, this.groups);
        let hasTakenFlows = false;
        for (const mod of mods) {
            const { size } = tables.flows;
            try {
                if ("group" in mod) tables.#changeGroup(mod);
                else tables.#changeFlow(mod);
            } catch (cause) {
                if (hasTakenFlows) throw new TypeError("Open vSwitch would end here", { cause });
                throw cause;
            }
            hasTakenFlows ||= "group" in mod && tables.flows.size < size;
        }
        return tables;
    }

    #changeFlow({ command, flow, cookieMask }: FlowMod): void {
        const { table, priority } = flow;
        if (table === undefined || priority === undefined) throw new TypeError("a flow mod without table or priority");
        const key = flowKey({ table, priority, match: flow.match });
        if (command === "add") {
            const added = { ...flow, table, priority, actions: flow.actions ?? [] };
            for (const id of groupsOf(added)) this.#group(id);
            this.flows.set(key, added);
        } else if (command === "delete_strict") {
            const present = this.flows.get(key);
            if (present !== undefined && cookieFits(present, flow.cookie ?? 0n, cookieMask ?? 0n)) {
                this.flows.delete(key);
            }
        } else throw new TypeError(`the fake switch knows no ${command}`);
    }

    #changeGroup(mod: GroupMod): void {
        if (mod.command === "delete") {
            const { id } = mod.group;
            if (id === "all") return this.groups.clear();
            this.groups.delete(id);
            for (const [key, flow] of this.flows) if (groupsOf(flow).includes(id)) this.flows.delete(key);
        } else if (mod.command === "add_or_modify") this.groups.set(mod.group.id, mod.group);
        else if (mod.command === "insert_bucket") {
            const group = this.#group(mod.group.id);
            const taken = new Set(group.buckets.map(({ id }) => id));
            if (mod.group.buckets.some(({ id }) => taken.has(id))) throw refused("the bucket exists");
            const at =
                mod.place === "first" ? 0 : mod.place === "last" ? group.buckets.length : placeOf(group, mod.place) + 1;
            this.groups.set(group.id, { ...group, buckets: group.buckets.toSpliced(at, 0, ...mod.group.buckets) });
        } else if (mod.command === "remove_bucket" && typeof mod.bucket === "number") {
            const group = this.#group(mod.group.id);
            this.groups.set(group.id, { ...group, buckets: group.buckets.toSpliced(placeOf(group, mod.bucket), 1) });
        } else throw new TypeError(`the fake switch knows no ${mod.command}`);
    }

    #group(id: number): Group {
        const group = this.groups.get(id);
        if (group === undefined) throw refused(`there is no group ${id}`);
        return group;
    }
}

/** Whether the cookie of a flow equals this one in the bits of the mask. */
export function cookieFits(flow: Flow, cookie: bigint, mask: bigint = allBits): boolean {
    return ((flow.cookie ?? 0n) & mask) === (cookie & mask);
}

function groupsOf(flow: Flow): readonly number[] {
    return flow.actions.flatMap((action) => (action.type === "group" ? [action.group] : []));
}

function placeOf({ buckets }: Group, bucket: number): number {
    const at = buckets.findIndex(({ id }) => id === bucket);
    if (at < 0) throw refused(`there is no bucket ${bucket}`);
    return at;
}

function refused(why: string): OpenFlowError {
    return new OpenFlowError("REFUSED", "caller", why);
}
