import { type Family } from "@antrea/ip";
import { anyArp, fieldsOf } from "./fields.ts";
import { type PipelineInput } from "./inputs.ts";
import { type PipelinePart } from "./part.ts";
import { Priority, Table } from "./tables.ts";

// OVS matches the EtherType behind a VLAN tag. Tagged frames are not expected on this bridge, and would pass guards
// that match addresses only.
const untagged = { vlan_vid: 0 };

/** The first flow table, for `Pipeline`; it drops all frames that no flow sends to another. */
export const rootTables = [{ table: "Root", stage: "root", miss: "drop" }] as const;

/**
 * Pipeline part that splits frames into ARP, IPv4 and IPv6. Frames of families that are not in use and frames with a
 * VLAN tag are dropped.
 */
export function rootPart({ families }: Pick<PipelineInput, "families">): PipelinePart {
    const common = { table: Table.Root, priority: Priority.normal, actions: [] };
    return {
        tables: rootTables,
        flows: (next) => [
            ...(families.includes(4)
                ? [{ ...common, match: { ...anyArp, ...untagged }, gotoTable: next.into("arp") }]
                : []),
            ...families.map((family: Family) => ({
                ...common,
                match: { ...fieldsOf(family).any, ...untagged },
                gotoTable: next.into("source", family),
            })),
        ],
    };
}
