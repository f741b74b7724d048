import { formatIp, IpError, parseIp, type IpAddress } from "@antrea/ip";
import { pods, referenceTo, staticUidOf, type ApiClient, type EventInput } from "@antrea/kube";
import { newSandboxStep } from "../../platform/pod-object.ts";
import type { KnownPod } from "./found-records.ts";
import type { UnwiredPod } from "./unwired.ts";

/**
 * Reads the Pods of a Node from the API server, those of the host network and ended ones included. Rejects with
 * KubeError, also if the signal aborts.
 */
export async function podsOf(api: ApiClient, nodeName: string, signal: AbortSignal): Promise<readonly KnownPod[]> {
    const { items } = await api.list(pods, { fieldSelector: `spec.nodeName=${nodeName}`, signal });
    return items.map((pod) => ({
        uid: pod.metadata?.uid ?? "",
        staticUid: staticUidOf(pod),
        namespace: pod.metadata?.namespace ?? "",
        name: pod.metadata?.name ?? "",
        hostNetwork: pod.spec?.hostNetwork === true,
        ended: pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed",
        hasSandbox: !(pod.status?.conditions ?? []).some(
            ({ type, status }) => type === "PodReadyToStartContainers" && status === "False",
        ),
        podIps: (pod.status?.podIPs ?? []).flatMap(({ ip }) => readableIps(ip ?? "")),
    }));
}

/**
 * The event (Warning, PodWithoutInterface) on a Pod that runs without an interface, with the addresses of its status
 * and the next step.
 */
export function unwiredEvent({ pod, ips }: UnwiredPod): EventInput {
    const { namespace, name, uid, staticUid } = pod;
    const next = newSandboxStep(staticUid !== undefined, "delete it");
    return {
        type: "Warning",
        reason: "PodWithoutInterface",
        action: "WirePod",
        regarding: referenceTo(pods, { metadata: { namespace, name, uid } }),
        note:
            `has ${ips.map(formatIp).join(" and ")} by its status, and no interface on this Node, so it reaches nobody: it was ` +
            `started under another network plugin, or its interface was removed; ${next}, so that it is made again`,
    };
}

/** Parses addresses; one that is invalid is skipped, so that it does not block the other Pods. */
function readableIps(text: string): readonly IpAddress[] {
    try {
        return [parseIp(text)];
    } catch (error) {
        if (error instanceof IpError) return [];
        throw error;
    }
}
