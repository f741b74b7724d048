import { formatIp } from "@antrea/ip";
import { addressesOf, ipv6MtuFault } from "@antrea/networks";
import { PodNetworkError } from "./errors.ts";
import type { PodLinkDraft } from "./link.ts";
import { draftMacOf, macOf } from "./names.ts";
import { defaultGatewaysOf } from "./network-end.ts";
import type {
    NetworkAddress,
    NetworkRecord,
    NetworkRecordAddress,
    PlannedNetwork,
    PodAttachment,
} from "../../platform/pod-interfaces/index.ts";

/** An interface of a network that is being made: what is known before its addresses are. */
export interface NetworkDraft extends PodAttachment, PodLinkDraft {
    readonly planned: PlannedNetwork;
}

/** The MAC address of an interface before an address of an IPPool is known, or without one, as text. */
export function macOfDraft({ containerId, ifName, planned }: NetworkDraft): string {
    return planned.mac ?? draftMacOf(`${containerId}/${ifName}`);
}

/**
 * The record of an interface, once its addresses are allocated (`claimed`, in the order of the demands). Throws
 * PodNetworkError `VLANS_APART`, `LOW_MTU` or `BAD_ROUTE`.
 */
export function networkRecordOf(
    draft: NetworkDraft,
    claimed: readonly NetworkAddress[],
    bootId: string,
): NetworkRecord {
    const { planned, containerId, ifName, podNamespace, podName, podUid, netns, hostIfName } = draft;
    const { network, mtu } = planned;
    // The VLAN of a virtual function is set where it was made.
    const vlan = planned.device === undefined ? (planned.vlan ?? vlanOf(claimed, network)) : 0;
    const addresses = recordAddresses(planned, claimed);
    const lowMtu = addresses.some(({ ip }) => ip.family === 6) ? ipv6MtuFault(mtu) : undefined;
    if (lowMtu !== undefined) {
        const text = `network ${network}: mtu: ${mtu} ${lowMtu.rule}; next: ${lowMtu.next}`;
        throw new PodNetworkError("LOW_MTU", "caller", text);
    }
    // A static address may be that of several Pods, which must not share a MAC address.
    const [first] = claimed;
    const defaultGateways = defaultGatewaysOf(planned, addresses);
    const mac = planned.mac ?? (first === undefined ? draftMacOf(`${containerId}/${ifName}`) : macOf(first.ip));
    const pod = { containerId, ifName, podNamespace, podName, podUid };
    const by = planned.attachedBy === undefined ? {} : { attachedBy: planned.attachedBy };
    const record = { ...pod, network, netns, hostIfName, mac, addresses, vlan, mtu, defaultGateways, bootId, ...by };
    return planned.device === undefined ? record : { ...record, device: planned.device };
}

/** The VLAN of the IPPools, which must be the same for all addresses. */
function vlanOf(claimed: readonly NetworkAddress[], network: string): number {
    const [first] = claimed;
    const other = claimed.find(({ vlan }) => vlan !== first?.vlan);
    if (first === undefined || other === undefined) return first?.vlan ?? 0;
    throw new PodNetworkError(
        "VLANS_APART",
        "caller",
        `network ${network}: its IPPools ${first.pool} and ${other.pool} have the VLANs ${first.vlan} and ${other.vlan}, and an interface has one; next: set vlan in the network, or name IPPools of one VLAN`,
    );
}

/** In the order of the network's result, each with the IPPool that it is allocated from. */
function recordAddresses(
    { addresses }: PlannedNetwork,
    claimed: readonly NetworkAddress[],
): readonly NetworkRecordAddress[] {
    if (addresses === undefined) return [];
    const pools = new Map(claimed.map(({ ip, pool }) => [formatIp(ip), pool]));
    return addressesOf(addresses, claimed).map((address) => ({ ...address, pool: pools.get(formatIp(address.ip)) }));
}
