import { IpError, parseIp, parsePrefix, type IpAddress, type Prefix } from "@antrea/ip";
import { type Node, type ServiceCidr } from "@antrea/kube";

/** What commands need of a Node. */
export interface NodeInfo {
    readonly name: string;
    readonly addresses: readonly IpAddress[];
    readonly podCidrs: readonly Prefix[];
    readonly ready: boolean;
    /** Declared shut down by an administrator: its Pods do not run. */
    readonly outOfService: boolean;
}

const outOfServiceTaint = "node.kubernetes.io/out-of-service";

export function readNode(node: Node): NodeInfo {
    const ready = node.status?.conditions?.find(({ type }) => type === "Ready");
    return {
        name: node.metadata?.name ?? "",
        addresses: readable(
            (node.status?.addresses ?? []).map(({ address }) => address),
            parseIp,
        ),
        podCidrs: readable(node.spec?.podCIDRs ?? [], masked),
        ready: ready?.status === "True",
        outOfService: (node.spec?.taints ?? []).some(({ key }) => key === outOfServiceTaint),
    };
}

export function readServiceCidrs(object: ServiceCidr): readonly Prefix[] {
    return readable(object.spec?.cidrs ?? [], masked);
}

function masked(text: string): Prefix {
    return parsePrefix(text, { hostBits: "mask" });
}

// Host names are among a Node's addresses too.
function readable<T>(texts: readonly string[], parse: (text: string) => T): readonly T[] {
    return texts.flatMap((text) => {
        try {
            return [parse(text)];
        } catch (error) {
            if (error instanceof IpError) return [];
            throw error;
        }
    });
}
