import type { OvsdbSession } from "@antrea/ovsdb/session";

/** The part of a session with ovsdb-server that bridges use; it must monitor `monitoredColumns`. */
export type OvsDatabase = Pick<OvsdbSession, "rows" | "transact" | "until">;

/** Tables and columns that the agent reads, as the `monitor` option of the session. */
export const monitoredColumns = {
    Open_vSwitch: ["bridges", "ovs_version", "iface_types", "next_cfg", "cur_cfg", "other_config"],
    Bridge: [
        "name",
        "ports",
        "datapath_id",
        "datapath_type",
        "fail_mode",
        "mcast_snooping_enable",
        "protocols",
        "external_ids",
    ],
    Port: ["name", "interfaces", "tag", "vlan_mode", "protected", "external_ids"],
    Interface: ["name", "type", "ofport", "ofport_request", "mac", "mac_in_use", "mtu", "options", "error"],
} as const;
