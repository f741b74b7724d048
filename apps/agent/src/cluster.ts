import { sleep, type Clock } from "@antrea/async";
import { macAnnotation, transportAnnotation } from "@antrea/crd";
import { messageOf } from "@antrea/errors";
import { formatIp, IpError, parseIp, type IpAddress } from "@antrea/ip";
import { outOfServiceTaint } from "@antrea/ipam";
import {
    daemonSets,
    isKubeError,
    pods,
    referenceTo,
    type ApiClient,
    type ChangeType,
    type EventInput,
    type Node,
} from "@antrea/kube";
import { type Logger } from "@antrea/runtime";
import type { KnownPod, UnwiredPod } from "./pod-network/index.ts";
import { staticUidOf } from "./pod-object.ts";

const announced: ReadonlySet<string> = new Set([transportAnnotation, macAnnotation]);

/** A Node without what nobody here reads; a cluster may have thousands. */
export function slimNode(node: Node): Node {
    const { name, uid, resourceVersion } = node.metadata ?? {};
    const annotations = Object.entries(node.metadata?.annotations ?? {}).filter(([key]) => announced.has(key));
    const taints = (node.spec?.taints ?? []).filter(({ key }) => key === outOfServiceTaint);
    return {
        metadata: {
            ...(name && { name }),
            ...(uid && { uid }),
            ...(resourceVersion && { resourceVersion }),
            ...(annotations.length > 0 && { annotations: Object.fromEntries(annotations) }),
        },
        spec: {
            ...(node.spec?.podCIDR && { podCIDR: node.spec.podCIDR }),
            ...(node.spec?.podCIDRs && { podCIDRs: node.spec.podCIDRs }),
            ...(taints.length > 0 && { taints }),
        },
        status: { ...(node.status?.addresses && { addresses: node.status.addresses }) },
    };
}

/**
 * True when the change is about what other Nodes route by: podCIDRs, addresses, or that the Node is gone; not a kubelet's
 * heartbeat.
 */
export function changesRoutes(type: ChangeType, node: Node, old: Node | undefined): boolean {
    const parts = ({ metadata, spec, status }: Node): string => JSON.stringify([metadata?.annotations, spec, status]);
    return type !== "updated" || old === undefined || old === node || parts(node) !== parts(old);
}

/** True when the change is about the podCIDRs of the cluster. */
export function changesPodCidrs(type: ChangeType, node: Node, old: Node | undefined): boolean {
    return type !== "updated" || old === undefined || JSON.stringify(node.spec) !== JSON.stringify(old.spec);
}

/** The Pods of a Node, read live. */
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

/** What the Pod is told that runs without an interface. */
export function unwiredEvent({ pod, ips }: UnwiredPod): EventInput {
    const { namespace, name, uid } = pod;
    return {
        type: "Warning",
        reason: "PodWithoutInterface",
        action: "WirePod",
        regarding: referenceTo(pods, { metadata: { namespace, name, uid } }),
        note:
            `has ${ips.map(formatIp).join(" and ")} by its status, and no interface on this Node, so it reaches nobody: it was ` +
            `started under another network plugin, or its interface was removed; delete it, so that it is made again`,
    };
}

/** One Pod with an address that cannot be read must not keep all others waiting. */
function readableIps(text: string): readonly IpAddress[] {
    try {
        return [parseIp(text)];
    } catch (error) {
        if (error instanceof IpError) return [];
        throw error;
    }
}

/** The live UID of a Pod; "" when there is none of that name. */
export async function podUidOf(api: ApiClient, namespace: string, name: string): Promise<string> {
    const pod = await api.find(pods, { namespace, name });
    return pod?.metadata?.uid ?? "";
}

const askLimitMs = 2_000;

/** Two requests and this pause have room in the time that a part has to stop. */
const secondLookMs = 4_000;

/**
 * True when the DaemonSet is being deleted: this agent will not come back. In doubt it stays. Uninstalling takes the
 * agent's rights, or its account, away before the Pods end; but an API server that has just started refuses everybody
 * until it knows the roles, so a refusal counts only when a second look says so too.
 */
export async function leavesForGood(
    api: Pick<ApiClient, "find">,
    namespace: string,
    { logger, clock }: { readonly logger: Logger; readonly clock?: Clock },
): Promise<boolean> {
    try {
        const first = await lookAtOwnDaemonSet(api, namespace);
        if (first !== "refused") return first === "gone";
        await sleep(secondLookMs, undefined, clock);
        return (await lookAtOwnDaemonSet(api, namespace)) !== "there";
    } catch (error) {
        logger.warn("cannot tell whether the DaemonSet is being deleted; the CNI configuration stays", {
            reason: messageOf(error),
        });
        return false;
    }
}

async function lookAtOwnDaemonSet(
    api: Pick<ApiClient, "find">,
    namespace: string,
): Promise<"there" | "gone" | "refused"> {
    try {
        const found = await api.find(daemonSets, { namespace, name: "antrea-agent" }, { timeoutMs: askLimitMs });
        return found === undefined || found.metadata?.deletionTimestamp !== undefined ? "gone" : "there";
    } catch (error) {
        if (isKubeError(error, "FORBIDDEN") || isKubeError(error, "UNAUTHORIZED")) return "refused";
        throw error;
    }
}
