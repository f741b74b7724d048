import { outOfServiceTaint } from "@antrea/ipam";
import { type Clock } from "@antrea/async";
import { Informer, nodes, slimNode, type ApiClient, type Node } from "@antrea/kube";
import { type Logger } from "@antrea/runtime";

/**
 * Returns an informer of all Nodes of the cluster, reduced by `slimNode`, with the out-of-service taint and without
 * annotations. The caller starts and closes it.
 */
export function nodesOf({
    api,
    clock,
    logger,
}: {
    readonly api: ApiClient;
    readonly clock: Clock;
    readonly logger: Logger;
}): Informer<Node> {
    const transform = (node: Node): Node => slimNode(node, { taints: [outOfServiceTaint] });
    return new Informer({ api, clock, logger: logger.child("nodes") }, { resource: nodes, transform });
}
