import { type Action, type SubField } from "@antrea/openflow";
import { type BridgingInput } from "./inputs.ts";
import { load, move, partsAre, Reg } from "./registers.ts";
import { type PipelinePart } from "./part.ts";
import { Priority, Table } from "./tables.ts";

const etherType8021q = 0x8100;
const tagPriority: SubField = { field: "vlan_pcp", offset: 0, bits: 3 };
/** Bit of `vlan_vid` that indicates a VLAN tag (OFPVID_PRESENT, OpenFlow 1.5 section 7.2.3.7). */
export const tagPresent = 0x1000;

/** Actions that push a VLAN tag with ID and priority from `Reg.vlan` and `Reg.tagPriority`. */
export const pushTag: readonly Action[] = [
    { type: "push_vlan", etherType: etherType8021q },
    move(Reg.vlan, { field: "vlan_vid", offset: 0, bits: 12 }),
    move(Reg.tagPriority, tagPriority),
];

/**
 * Actions that pop the tag of a frame and store its VLAN ID, which `vlan` has and the flow matches, its priority and
 * `Reg.tagged` for `pushTag`.
 */
export function popTag(vlan: number): Action[] {
    return [move(tagPriority, Reg.tagPriority), { type: "pop_vlan" }, load(Reg.vlan, vlan), load(Reg.tagged, 1)];
}

/** Actions that mark packets of a bridged Pod in this VLAN (0 is untagged) in registers, which are initially zero. */
export function markBridged(vlan: number): Action[] {
    const tagged = [load(Reg.vlan, vlan), load(Reg.tagged, 1)];
    return [load(Reg.bridged, 1), ...(vlan === 0 ? [] : tagged)];
}

/** Flow table that pushes VLAN tags, for `Pipeline`; other frames pass it. */
export const vlanTables = [{ table: "Vlan", stage: "tagging", miss: "next" }] as const;

/** Pipeline part that pushes the tag on frames of a tagged VLAN to the uplink and the host port. */
export function vlanPart({ uplink, host }: Pick<BridgingInput, "uplink" | "host">): PipelinePart {
    return {
        tables: vlanTables,
        flows: (next) =>
            [uplink, host].map(({ ofPort }) => ({
                table: Table.Vlan,
                priority: Priority.normal,
                match: partsAre([Reg.tagged, 1], [Reg.outputPort, ofPort]),
                actions: pushTag,
                gotoTable: next.after("Vlan"),
            })),
    };
}
