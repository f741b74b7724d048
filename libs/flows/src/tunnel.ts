import { type Flow } from "@antrea/openflow";
import { parseMac, type Family, type Prefix } from "@antrea/ip";
import { fieldsOf, fromPrefix, linkLocal } from "./fields.ts";
import { Priority, Table } from "./tables.ts";

/**
 * The destination of frames in tunnels, whichever Node they go to, and what the hosts take for the MAC address of peer
 * gateways: Antrea's global virtual MAC. A receiver routes what comes by a tunnel, whatever its frame says.
 */
export const tunnelMac: Uint8Array = parseMac("aa:bb:cc:dd:ee:ff");

/**
 * What may come by a tunnel: IP packets of other Nodes' Pods and gateways. One with a source of this Node is false, and
 * one from a link-local address is for no other link (RFC 4291 section 2.5.6).
 */
export function tunnelGuard(ofPort: number, families: readonly Family[], podPrefixes: readonly Prefix[]): Flow[] {
    const guard = { table: Table.SpoofGuard, actions: [] };
    const next = { 4: Table.ConntrackZone, 6: Table.NdGuard } as const;
    return families.flatMap((family) => [
        ...[...podPrefixes, linkLocal]
            .filter((prefix) => prefix.family === family)
            .map((prefix) => ({
                ...guard,
                priority: Priority.high,
                match: { ...fromPrefix(prefix), in_port: ofPort },
            })),
        {
            ...guard,
            priority: Priority.normal,
            match: { ...fieldsOf(family).any, in_port: ofPort },
            gotoTable: next[family],
        },
    ]);
}
