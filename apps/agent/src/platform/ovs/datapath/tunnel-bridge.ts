import { optionalTextOf, referencesOf, textOf, type Row } from "@antrea/ovsdb";
import type { OvsDatabase } from "../bridge/index.ts";

/**
 * The columns of a Bridge row and its interfaces (ovs-vswitchd.conf.db(5)) that determine whether tunnels of the
 * userspace datapath can leave.
 */
export interface BridgeRows {
    readonly name: string;
    /** Column `datapath_type`; "" is `system`. */
    readonly datapathType: string;
    /** The interfaces of its ports, including the LOCAL port. */
    readonly interfaces: readonly InterfaceRow[];
}

/** The columns of an Interface row (ovs-vswitchd.conf.db(5)) that `tunnelBridgeProblem` uses. */
export interface InterfaceRow {
    readonly name: string;
    /** Column `type`; "" is an existing link, as is `system`. */
    readonly type: string;
    /** Why OVS could not open it; undefined if it could. */
    readonly error: string | undefined;
}

/** Types of interfaces that lead to a network outside of the Node; "" and `system` are kernel links. */
const nicTypes: ReadonlySet<string> = new Set(["", "system", "afxdp", "afxdp-nonpmd", "dpdk"]);

/** All bridges of the database, of any owner, as far as the session monitors them (`monitoredColumns`). */
export function bridgeRows(database: Pick<OvsDatabase, "rows">): readonly BridgeRows[] {
    const rowsOf = (table: string, row: Row, column: string): readonly Row[] => {
        const rows = database.rows(table);
        return referencesOf(row, column)
            .map((uuid) => rows.get(uuid))
            .filter((found) => found !== undefined);
    };
    return [...database.rows("Bridge").values()].map((bridge) => ({
        name: textOf(bridge, "name"),
        datapathType: textOf(bridge, "datapath_type"),
        interfaces: rowsOf("Port", bridge, "ports")
            .flatMap((port) => rowsOf("Interface", port, "interfaces"))
            .map((row) => ({
                name: textOf(row, "name"),
                type: textOf(row, "type"),
                error: optionalTextOf(row, "error"),
            })),
    }));
}

/**
 * Why tunnels of the userspace datapath cannot leave through this transport interface, and the remedy, as text for
 * users; undefined if they can. OVS routes tunnel packets itself and only to the LOCAL port of a bridge of type netdev;
 * the bridge needs a NIC, otherwise nothing leaves the Node. Pure function.
 */
export function tunnelBridgeProblem(bridges: readonly BridgeRows[], transportInterface: string): string | undefined {
    const bridge = bridges.find(({ name }) => name === transportInterface);
    if (bridge === undefined) return noBridge(bridges, transportInterface);
    const { name, datapathType, interfaces } = bridge;
    if (datapathType !== "netdev") {
        const type = datapathType === "" ? "system" : datapathType;
        return `bridge ${name} has datapath type ${type}, so tunnels of the userspace datapath cannot leave by it; run: ovs-vsctl set bridge ${name} datapath_type=netdev`;
    }
    const nics = interfaces.filter((port) => port.name !== name && nicTypes.has(port.type));
    if (nics.length === 0)
        return `bridge ${name} has no NIC, so tunnels cannot leave the Node; run: ovs-vsctl add-port ${name} NIC`;
    const broken = nics.find(({ error }) => error !== undefined);
    if (broken === undefined || nics.some(({ error }) => error === undefined)) return undefined;
    return `OVS cannot open NIC ${broken.name} of bridge ${name}: ${broken.error}; see the log of container antrea-ovs`;
}

function noBridge(bridges: readonly BridgeRows[], transportInterface: string): string {
    const holder = bridges.find(({ interfaces }) => interfaces.some(({ name }) => name === transportInterface));
    const what = `with ovs.datapathType=netdev tunnels leave only by the LOCAL port of a bridge of OVS, and ${transportInterface}`;
    const next =
        holder === undefined
            ? `is none; make one over a NIC and set transportInterface to it, see docs/datapaths.md`
            : `is another port of bridge ${holder.name}; give its addresses to ${holder.name} and set transportInterface=${holder.name}`;
    return `${what} ${next}`;
}
