import { type Flow } from "@antrea/openflow";
import { type Family } from "@antrea/ip";
import { anyArp, fieldsOf } from "./fields.ts";
import { Priority, Table, type MissActions, type TableName } from "./tables.ts";

/** The flow that every table has for what nothing else in it matches. */
export function missFlows(missActions: MissActions): Flow[] {
    return (Object.keys(missActions) as TableName[]).map((name) => {
        const next = missActions[name];
        const common = { table: Table[name], priority: Priority.miss, match: {}, actions: [] };
        return next === undefined || next === "drop" ? common : { ...common, gotoTable: next };
    });
}

// OVS matches the type behind a VLAN tag. A tagged frame is nobody's on this bridge, and would pass guards that look at
// addresses only.
const untagged = { vlan_vid: 0 };

/** Which pipeline a frame takes. Families that are not in use end here. */
export function rootFlows(families: readonly Family[]): Flow[] {
    const common = { table: Table.Root, priority: Priority.normal, actions: [] };
    const ip = families.map((family) => ({
        ...common,
        match: { ...fieldsOf(family).any, ...untagged },
        gotoTable: Table.Classifier,
    }));
    if (!families.includes(4)) return ip;
    return [{ ...common, match: { ...anyArp, ...untagged }, gotoTable: Table.ArpSpoofGuard }, ...ip];
}
