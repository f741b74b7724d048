import { nodeAddressesOf, outOfServiceTaint } from "@antrea/ipam";
import { type Clock } from "@antrea/async";
import { Informer, nodes, type ApiClient, type Node } from "@antrea/kube";
import { type Logger } from "@antrea/runtime";

/** Reduces a Node to the fields in use: a cluster may have thousands, and most of a Node is images and conditions. */
export function slimNode(node: Node): Node {
    const { name, uid, resourceVersion, deletionTimestamp } = node.metadata ?? {};
    const { podCIDR, podCIDRs } = node.spec ?? {};
    const taints = (node.spec?.taints ?? []).filter(({ key }) => key === outOfServiceTaint);
    // Without host names, which no pool contains.
    const addresses = (node.status?.addresses ?? []).filter(
        (one) => nodeAddressesOf({ status: { addresses: [one] } }).length > 0,
    );
    return {
        metadata: {
            ...(name !== undefined && { name }),
            ...(uid !== undefined && { uid }),
            ...(resourceVersion !== undefined && { resourceVersion }),
            ...(deletionTimestamp !== undefined && { deletionTimestamp }),
        },
        spec: {
            ...(podCIDR !== undefined && { podCIDR }),
            ...(podCIDRs !== undefined && { podCIDRs }),
            ...(taints.length > 0 && { taints }),
        },
        ...(addresses.length > 0 && { status: { addresses } }),
    };
}

/** An informer of all Nodes, reduced to the fields in use. */
export function nodesOf({
    api,
    clock,
    logger,
}: {
    readonly api: ApiClient;
    readonly clock: Clock;
    readonly logger: Logger;
}): Informer<Node> {
    return new Informer({ api, clock, logger: logger.child("nodes") }, { resource: nodes, transform: slimNode });
}
