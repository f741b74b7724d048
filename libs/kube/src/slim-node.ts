import { isIP } from "node:net";
import { onlyKeys, present } from "@antrea/errors";
import { type Node } from "./api/types.ts";

/** What `slimNode` keeps of a Node besides its identity, podCIDRs and addresses. */
export interface SlimNodeOptions {
    /** Keys of labels. Default none. */
    readonly labels?: readonly string[];
    /** Keys of annotations. Default none. */
    readonly annotations?: readonly string[];
    /** Keys of taints. Default none. */
    readonly taints?: readonly string[];
}

/**
 * Reduces a Node to the fields that an informer keeps, since a cluster may have thousands and most of a Node is images
 * and conditions: name, UID, resourceVersion, deletionTimestamp, podCIDRs, addresses without host names, and the
 * labels, annotations and taints with the given keys. Returns a new Node; fields that the Node lacks stay absent.
 */
export function slimNode(node: Node, { labels = [], annotations = [], taints = [] }: SlimNodeOptions = {}): Node {
    const { name, uid, resourceVersion, deletionTimestamp } = node.metadata ?? {};
    const { podCIDR, podCIDRs } = node.spec ?? {};
    const keptTaints = (node.spec?.taints ?? []).filter(({ key }) => taints.includes(key));
    const addresses = (node.status?.addresses ?? []).filter(
        ({ type, address }) => type === "InternalIP" || isIP(address) !== 0,
    );
    return present<Node>({
        metadata: present({
            name,
            uid,
            resourceVersion,
            deletionTimestamp,
            labels: onlyKeys(node.metadata?.labels, labels),
            annotations: onlyKeys(node.metadata?.annotations, annotations),
        }),
        spec: present({ podCIDR, podCIDRs, taints: keptTaints.length === 0 ? undefined : keptTaints }),
        status: addresses.length === 0 ? undefined : { addresses },
    });
}
