import {
    insert,
    map,
    mutate,
    named,
    optionalNumberOf,
    optionalTextOf,
    set,
    textEntryOf,
    type uuid,
    type InputRow,
    type Operation,
    type Row,
} from "@antrea/ovsdb";

/** Settings of SwitchBridge. */
export interface SwitchBridgeOptions {
    /** Name of the bridge. */
    readonly bridge: string;
    /** `system` (kernel) or `netdev` (userspace). */
    readonly datapathType: "system" | "netdev";
    /** Forwards multicast only to ports whose hosts have joined the group, as far as OVS has seen that. */
    readonly multicastSnooping: boolean;
}

/** In external_ids of the bridge and of its NICs: made by this agent. */
export const secondaryBridgeKey = "antrea-secondary";

/** The columns of a NIC's Port. */
export const nicColumns: InputRow = {
    vlan_mode: set("trunk"),
    protected: true,
    tag: set(),
    external_ids: map({ [secondaryBridgeKey]: "nic" }),
};

/** The columns of a Bridge without its name and ports. */
export function bridgeColumns({
    datapathType,
    multicastSnooping,
}: Pick<SwitchBridgeOptions, "datapathType" | "multicastSnooping">): InputRow {
    return {
        datapath_type: datapathType,
        fail_mode: set("standalone"),
        mcast_snooping_enable: multicastSnooping,
        external_ids: map({ [secondaryBridgeKey]: "true" }),
    };
}

/** The operations that insert a bridge with its own port and these. */
export function newBridge(
    options: SwitchBridgeOptions,
    ports: readonly ReturnType<typeof named | typeof uuid>[],
): readonly Operation[] {
    const { bridge } = options;
    return [
        insert("Interface", { name: bridge, type: "internal" }, "local_interface"),
        insert("Port", { name: bridge, interfaces: set(named("local_interface")) }, "local_port"),
        insert(
            "Bridge",
            { name: bridge, ports: set(named("local_port"), ...ports), ...bridgeColumns(options) },
            "new_bridge",
        ),
        mutate("Open_vSwitch", [], [["bridges", "insert", set(named("new_bridge"))]]),
    ];
}

/** Whether a row of Bridge is of a bridge that this agent or an earlier one made. */
export function isOwn(bridge: Row): boolean {
    return textEntryOf(bridge, "external_ids", secondaryBridgeKey) === "true";
}

/** Whether a row of Port is that of a NIC. */
export function isNic(port: Row): boolean {
    return textEntryOf(port, "external_ids", secondaryBridgeKey) === "nic";
}

/** Whether the row of a Port is that of a NIC as `nicColumns` makes it. */
export function isNicAsWanted(row: Row): boolean {
    return (
        isNic(row) &&
        optionalTextOf(row, "vlan_mode") === "trunk" &&
        row["protected"] === true &&
        optionalNumberOf(row, "tag") === undefined
    );
}

/** The operations that insert the Port of a NIC, or a patch port to `peer`, as `nic_port_INDEX`. */
export function nicRows(
    { name, peer }: { readonly name: string; readonly peer: string | undefined },
    index: number,
): readonly Operation[] {
    const interfaceId = `nic_interface_${index}`;
    const kind: InputRow = peer === undefined ? { type: "" } : { type: "patch", options: map({ peer }) };
    return [
        insert("Interface", { name, ...kind }, interfaceId),
        insert(
            "Port",
            {
                name,
                interfaces: set(named(interfaceId)),
                ...nicColumns,
            },
            `nic_port_${index}`,
        ),
    ];
}
