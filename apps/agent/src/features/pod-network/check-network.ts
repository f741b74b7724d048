import { formatIp, sameIp } from "@antrea/ip";
import type { Netlink } from "@antrea/netlink";
import { checkEnds, differs, type CheckEnds } from "./check-ends.ts";
import { isolatedText } from "./check.ts";
import type { NetworkRecord } from "../../platform/pod-interfaces/index.ts";

/** Dependencies of checkNetworkInterface. */
export interface NetworkCheckComponents {
    readonly netlink: Netlink;
    /** The port of this name on the bridge for networks, with its VLAN; undefined if there is none. */
    readonly port: (
        name: string,
    ) =>
        | { readonly ofPort: number | undefined; readonly error: string | undefined; readonly vlan: number | undefined }
        | undefined;
    /** Describes a problem with the allocations of a record's pool addresses; undefined if there is none. */
    readonly allocationProblem: (record: NetworkRecord) => Promise<string | undefined>;
}

/**
 * Implements CNI CHECK of an interface on a network other than the Pod network: compares it with the kernel and OVS;
 * changes nothing. Rejects as `checkInterface`.
 */
export async function checkNetworkInterface(
    { netlink, port: portOf, allocationProblem }: NetworkCheckComponents,
    record: NetworkRecord,
    { netns, previous }: Omit<CheckEnds, "record">,
): Promise<void> {
    // First: its link is down then.
    if (record.isolated === true) throw differs("ISOLATED", record, isolatedText);
    const { link, routes } = await checkEnds(netlink, { record, netns, previous });
    for (const gateway of record.defaultGateways) {
        const found = routes.some(
            ({ dst, dev, via }) => dst.length === 0 && dev === link.index && via !== undefined && sameIp(via, gateway),
        );
        if (!found) throw differs("ROUTE", record, `no default route via ${formatIp(gateway)} on ${record.ifName}`);
    }
    if (record.device === undefined) checkPort(portOf(record.hostIfName), record);
    const problem = await allocationProblem(record);
    if (problem !== undefined) throw differs("ALLOCATION", record, problem);
}

function checkPort(port: ReturnType<NetworkCheckComponents["port"]>, record: NetworkRecord): void {
    if (port === undefined) throw differs("OVS_PORT", record, `OVS has no port ${record.hostIfName}`);
    if ((port.ofPort ?? -1) <= 0) {
        const reason = port.error === undefined ? "" : `: ${port.error}`;
        throw differs("OVS_PORT", record, `OVS has not opened port ${record.hostIfName}${reason}`);
    }
    if (port.vlan !== record.vlan) {
        const found = port.vlan === undefined ? "no VLAN, so all" : `VLAN ${port.vlan}`;
        throw differs("OVS_PORT", record, `OVS port ${record.hostIfName} has ${found}, not ${record.vlan}`);
    }
}
