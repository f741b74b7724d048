import { type Flow } from "@antrea/openflow";
import { type Family } from "@antrea/ip";
import { type Category } from "./cookies.ts";
import { type TableId, type TableName } from "./tables.ts";

/** The stages that an IP packet passes, in this order. One that no table is in is passed over. */
export const mainStages = [
    /** Who sent it, and may it. */
    "source",
    /** The connection is looked up. */
    "lookup",
    /** What is known of the connection decides. */
    "connection",
    "services",
    "egressPolicy",
    /** The next hop. */
    "routing",
    /** Only what the switch itself routes: the hop is counted. */
    "hop",
    /** Its source address, when it leaves the Node. */
    "snat",
    /** The output port. */
    "switching",
    "ingressPolicy",
    /** The connection becomes known. */
    "commit",
    /** The source address, where the output port decides on it. */
    "portSnat",
    "tagging",
    "output",
] as const;

/** The stages beside them, which a flow enters by name. None follows their last table. */
export const sideStages = ["root", "underlay", "arp", "neighbours", "underlaySwitch"] as const;

export type MainStage = (typeof mainStages)[number];
export type Stage = MainStage | (typeof sideStages)[number];

/** A table that is in use: where it is on the way of a packet, and what becomes of one that none of its flows matches. */
export interface TableUse {
    readonly table: TableName;
    readonly stage: Stage;
    /** `next`: the packet goes on to the table that follows. */
    readonly miss: "drop" | "next";
    /** Packets of another family do not pass it. Default: all do. */
    readonly family?: Family;
}

/** Where flows send a packet on to, whichever features are in use: so that no feature names a table of another one. */
export interface NextTable {
    /** The table that follows this one in its stage, or the first of the main stages after it. */
    after(table: TableName, family?: Family): TableId;
    /** The first table of a stage, or of the next main stage that has one. */
    into(stage: Stage, family?: Family): TableId;
}

/** What a feature puts into the pipeline, whatever Pods and other Nodes there are. */
export interface PipelinePart {
    /** Its own tables; its flows may be in tables of others too. */
    readonly tables: readonly TableUse[];
    /** Of its flows. Default: `default`. */
    readonly category?: Category;
    /** @param next to all tables in use, also those of other parts */
    flows(next: NextTable): readonly Flow[];
}
