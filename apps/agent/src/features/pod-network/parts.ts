import type { StoredPort } from "./found-records.ts";
import { hostInterfaceName, macOf } from "./names.ts";
import type { PodPorts } from "./types.ts";
import {
    type AddRequest,
    type AddressAllocation,
    type Attachment,
    attachmentKey,
    type PodInterface,
    type PodRecord,
    toExternalIds,
} from "../../platform/pod-interfaces/index.ts";
import { PodNetworkError } from "./errors.ts";

/** The owner of an interface's flows in the flow table: "pod/" and its `attachmentKey`. */
export function flowOwner(record: Attachment): string {
    return `pod/${attachmentKey(record)}`;
}

/** The OVS port of an interface to create, with its record as external IDs and the OpenFlow port number to request. */
export function portSpec(record: PodRecord, ofPortRequest: number): Parameters<PodPorts["ensurePort"]>[0] {
    return { name: record.hostIfName, type: "", ofPortRequest, externalIds: toExternalIds(record) };
}

/** A record without the fields that depend on the addresses. */
export type PodDraft = Omit<PodRecord, "addresses" | "vlan" | "mac">;

/** The draft for an ADD, with a name on the Node that none of these interfaces has. */
export function draftOf(
    { containerId, ifName, netns, podNamespace, podName, podUid, network }: AddRequest,
    others: readonly PodInterface[],
    { bootId, networksHash }: Pick<PodRecord, "bootId" | "networksHash">,
): PodDraft {
    const taken = new Set(others.map(({ record }) => record.hostIfName));
    let attempt = 0;
    while (taken.has(hostInterfaceName(podName, containerId, ifName, attempt))) attempt += 1;
    const hostIfName = hostInterfaceName(podName, containerId, ifName, attempt);
    const draft = { containerId, ifName, netns, podNamespace, podName, podUid, hostIfName, bootId, network };
    return networksHash === undefined ? draft : { ...draft, networksHash };
}

/**
 * Completes a draft with its addresses, and the MAC address that `macOf` derives from the first one; throws
 * PodNetworkError `NO_ADDRESS` if there are none.
 */
export function recordOf(draft: PodDraft, { addresses, vlan }: AddressAllocation): PodRecord {
    const first = addresses[0];
    if (first === undefined) throw new PodNetworkError("NO_ADDRESS", "internal", "an allocation without an address");
    return { ...draft, mac: macOf(first.ip), addresses, vlan };
}

/**
 * The Pod that a port was created for, as log fields: `pod` is "namespace/name". Empty if its record does not name it.
 */
export function podOfPort({ externalIds }: Pick<StoredPort, "externalIds">): { readonly pod?: string } {
    const [namespace, name] = [externalIds.get("pod-namespace") ?? "", externalIds.get("pod-name") ?? ""];
    return name === "" ? {} : { pod: `${namespace}/${name}` };
}
