import { type Flow } from "@antrea/openflow";
import { type Family } from "@antrea/ip";
import { type Category } from "./cookies.ts";
import { type TableId, type TableName } from "./tables.ts";

/** The stages that an IP packet passes, in this order. A stage without tables is skipped. */
export const mainStages = [
    /** Identifies the sender and checks its addresses. */
    "source",
    /** Looks up the connection. */
    "lookup",
    /** Decides by the state of the connection. */
    "connection",
    "services",
    "egressPolicy",
    /** Chooses the next hop. */
    "routing",
    /** Decrements the TTL of packets that the switch itself routes. */
    "hop",
    /** Source NAT of packets that leave the Node. */
    "snat",
    /** Chooses the output port. */
    "switching",
    "ingressPolicy",
    /** Commits the connection. */
    "commit",
    /** Source NAT that depends on the output port. */
    "portSnat",
    "tagging",
    "output",
] as const;

/**
 * Further stages, which flows enter by `NextTable.into`. No stage follows them: after their last table,
 * `NextTable.after` throws.
 */
export const sideStages = ["root", "underlay", "arp", "neighbours", "underlaySwitch", "fragments", "affinity"] as const;

/** A stage that IP packets pass, in the order of `mainStages`. */
export type MainStage = (typeof mainStages)[number];
/** A stage of the pipeline: of IP packets, or one that flows enter by name. */
export type Stage = MainStage | (typeof sideStages)[number];

/** A table in use: its stage, and the action for packets that match none of its flows. */
export interface TableUse {
    readonly table: TableName;
    readonly stage: Stage;
    /** `next`: the packet continues in the following table. */
    readonly miss: "drop" | "next";
    /** The only family whose packets pass the table. Default: all packets do. */
    readonly family?: Family;
}

/**
 * Resolves the table in which a flow continues, whichever features are in use, so that no feature names a table of
 * another. `family` is that of the packets; without it, tables of one family are skipped. Both methods throw FlowsError
 * `PIPELINE` if there is no table.
 */
export interface NextTable {
    /**
     * Returns the table that follows this one in its stage, or else the first table of the following main stages.
     * Default of `family`: that of `table`.
     */
    after(table: TableName, family?: Family): TableId;
    /** Returns the first table of a stage, or else of the following main stages. */
    into(stage: Stage, family?: Family): TableId;
}

/** The flows that a feature adds to the pipeline, independent of Pods and other Nodes. */
export interface PipelinePart {
    /** The tables that the part owns; its flows may be in other tables too. */
    readonly tables: readonly TableUse[];
    /** Category of its flows. Default: `default`. */
    readonly category?: Category;
    /**
     * Returns the flows, without cookies. Throws what `next` throws.
     *
     * @param next resolves all tables in use, including those of other parts
     */
    flows(next: NextTable): readonly Flow[];
}
