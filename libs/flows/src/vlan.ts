import { type Action, type SubField } from "@antrea/openflow";
import { type BridgingInput } from "./inputs.ts";
import { load, move, partsAre, Reg } from "./registers.ts";
import { type PipelinePart } from "./part.ts";
import { Priority, Table } from "./tables.ts";

const etherType8021q = 0x8100;
const tagPriority: SubField = { field: "vlan_pcp", offset: 0, bits: 3 };
/** The bit of `vlan_vid` that says that there is a tag: OpenFlow 1.5 section 7.2.3.7. */
export const tagPresent = 0x1000;

/** The actions that put a frame's tag on. */
export const pushTag: readonly Action[] = [
    { type: "push_vlan", etherType: etherType8021q },
    move(Reg.vlan, { field: "vlan_vid", offset: 0, bits: 12 }),
    move(Reg.tagPriority, tagPriority),
];

/** The actions that take the tag of a VLAN off and remember it. */
export function popTag(vlan: number): Action[] {
    return [move(tagPriority, Reg.tagPriority), { type: "pop_vlan" }, load(Reg.vlan, vlan), load(Reg.tagged, 1)];
}

/** The actions that mark what a bridged Pod of this VLAN sends. Registers begin as zero, which is the untagged one. */
export function markBridged(vlan: number): Action[] {
    const tagged = [load(Reg.vlan, vlan), load(Reg.tagged, 1)];
    return [load(Reg.bridged, 1), ...(vlan === 0 ? [] : tagged)];
}

export const vlanTables = [{ table: "Vlan", stage: "tagging", miss: "next" }] as const;

/** On the underlay's side every frame carries the tag of its VLAN. */
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
