import { macOf } from "./names.ts";
import type { StoredPort } from "./rebuild.ts";
import { recordKey, toExternalIds, type PodRecord } from "./record.ts";
import { PodNetworkError, type BridgedPod, type PodPorts, type PoolGrant } from "./types.ts";

/** What the flow table knows an interface's flows by. */
export function flowOwner(record: PodRecord): string {
    return `pod/${recordKey(record.containerId, record.ifName)}`;
}

/** The port of an interface, with its record. */
export function portSpec(record: PodRecord, ofPortRequest: number): Parameters<PodPorts["ensurePort"]>[0] {
    return { name: record.hostIfName, type: "", ofPortRequest, externalIds: toExternalIds(record) };
}

/** An interface as its VLAN sees it. */
export function bridgedPod(record: PodRecord, ofPort: number): BridgedPod {
    const { vlan, mac, addresses } = record;
    return { key: keyOf(record), vlan, ofPort, mac, ips: addresses.map(({ ip }) => ip) };
}

/** What an interface is kept by. */
export function keyOf(record: PodRecord): string {
    return recordKey(record.containerId, record.ifName);
}

/** A record without what follows from the addresses. */
export type PodDraft = Omit<PodRecord, "addresses" | "vlan" | "mac">;

/** The record of a draft whose addresses are known now. */
export function recordOf(draft: PodDraft, { addresses, vlan }: PoolGrant): PodRecord {
    const first = addresses[0];
    if (first === undefined) throw new PodNetworkError("NO_ADDRESS", "internal", "an allocation without an address");
    return { ...draft, mac: macOf(first.ip), addresses, vlan };
}

/** The Pod, for messages. */
export function podOf(record: PodRecord): string {
    return `${record.podNamespace}/${record.podName}`;
}

/** The Pod that a port was made for, for the log; empty when its record does not name it. */
export function podOfPort({ externalIds }: Pick<StoredPort, "externalIds">): { readonly pod?: string } {
    const [namespace, name] = [externalIds.get("pod-namespace") ?? "", externalIds.get("pod-name") ?? ""];
    return name === "" ? {} : { pod: `${namespace}/${name}` };
}
