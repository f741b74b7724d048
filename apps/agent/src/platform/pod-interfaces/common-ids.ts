import type { PodAttachment } from "./attachment.ts";
import type { NetworkRecord } from "./network-record.ts";
import type { PodRecord } from "./record.ts";

type CommonKey = "podNamespace" | "podName" | "podUid" | "netns" | "bootId" | "isolated";

/** The external_ids that the port of each interface of a Pod has, before its addresses are known too. */
export function attachmentIds(record: PodAttachment & Pick<PodRecord, "bootId">): Readonly<Record<string, string>> {
    return {
        "antrea-type": "container",
        "container-id": record.containerId,
        "if-dev": record.ifName,
        "pod-namespace": record.podNamespace,
        "pod-name": record.podName,
        "pod-uid": record.podUid,
        "boot-id": record.bootId,
    };
}

/** The external_ids that records of the Pod network and of other networks have in common, but for their addresses. */
export function commonIds(record: PodRecord | NetworkRecord): Readonly<Record<string, string>> {
    return {
        ...attachmentIds(record),
        "net-ns": record.netns,
        "attached-mac": record.mac,
        ...(record.vlan === 0 ? {} : { vlan: String(record.vlan) }),
        ...(record.isolated === true ? { isolated: "true" } : {}),
    };
}

/** Decodes those of `commonIds` for which every text is valid: "" for one that is missing. */
export function readCommonIds(ids: ReadonlyMap<string, string>): Pick<PodRecord, CommonKey> {
    return {
        podNamespace: ids.get("pod-namespace") ?? "",
        podName: ids.get("pod-name") ?? "",
        podUid: ids.get("pod-uid") ?? "",
        netns: ids.get("net-ns") ?? "",
        bootId: ids.get("boot-id") ?? "",
        ...(ids.get("isolated") === "true" ? { isolated: true } : {}),
    };
}
