import { type Flow } from "@antrea/openflow";
import { Priority, Table } from "./tables.ts";

/**
 * Whether a flow was made of what only the API server tells: the Nodes (tunnels to them, and the MAC addresses to which
 * bridged Pods send) and the ranges of Services. An agent that starts while the API server is away cannot make these
 * again, so those of the agent before it stay until it can.
 */
export function isLearnedFlow({ table, priority, actions, gotoTable }: Flow): boolean {
    const isTunnel = (actions ?? []).some(
        (action) => action.type === "set_field" && (action.field === "tun_dst" || action.field === "tun_ipv6_dst"),
    );
    // Beside them at this priority stands only what leads to the Node's own podCIDRs, by the table L3Forwarding.
    const isBridged =
        table === Table.BridgedForwarding &&
        priority === Priority.lower &&
        (gotoTable === Table.L2Forwarding || gotoTable === Table.L3DecTtl);
    return isTunnel || isBridged;
}
