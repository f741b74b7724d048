import { macOf } from "./names.ts";
import type { StoredPort } from "./rebuild.ts";
import type { PodPorts } from "./types.ts";
import {
    type AddressAllocation,
    type Attachment,
    attachmentKey,
    type PodRecord,
    toExternalIds,
} from "../../platform/pod-interfaces/index.ts";
import { PodNetworkError } from "./errors.ts";

/** What the flow table knows an interface's flows by. */
export function flowOwner(record: Attachment): string {
    return `pod/${attachmentKey(record)}`;
}

/** The port of an interface, with its record. */
export function portSpec(record: PodRecord, ofPortRequest: number): Parameters<PodPorts["ensurePort"]>[0] {
    return { name: record.hostIfName, type: "", ofPortRequest, externalIds: toExternalIds(record) };
}

/** A record without what follows from the addresses. */
export type PodDraft = Omit<PodRecord, "addresses" | "vlan" | "mac">;

/** The record of a draft whose addresses are known now. */
export function recordOf(draft: PodDraft, { addresses, vlan }: AddressAllocation): PodRecord {
    const first = addresses[0];
    if (first === undefined) throw new PodNetworkError("NO_ADDRESS", "internal", "an allocation without an address");
    return { ...draft, mac: macOf(first.ip), addresses, vlan };
}

/** The Pod that a port was made for, for the log; empty when its record does not name it. */
export function podOfPort({ externalIds }: Pick<StoredPort, "externalIds">): { readonly pod?: string } {
    const [namespace, name] = [externalIds.get("pod-namespace") ?? "", externalIds.get("pod-name") ?? ""];
    return name === "" ? {} : { pod: `${namespace}/${name}` };
}
