import { CniCallError, checkAttachment, parseCniArgs, shown, type CniCmdArgs, type NetworkConfig } from "@antrea/cni";
import { parseIp } from "@antrea/ip";
import type { Attachment, InterfaceAddress, PodAttachment } from "../../platform/pod-interfaces/index.ts";

/** Limit of the container ID, so that the record fits into a link alias, from which it may be rebuilt. */
const maxContainerIdLength = 96;

/**
 * Repeats the checks of our CNI binary, which is not the only possible caller. DEL accepts anything: an unknown
 * interface counts as deleted. Throws CniCallError `INVALID_ENVIRONMENT_VARIABLES`.
 */
export function checkArgs(args: CniCmdArgs): void {
    checkAttachment(args);
    if (args.containerId.length > maxContainerIdLength) {
        throw badArgument(`CNI_CONTAINERID: ${args.containerId} must not exceed ${maxContainerIdLength} characters`);
    }
    if (args.netns === "") throw badArgument("CNI_NETNS must be set");
    if (!args.netns.startsWith("/")) {
        throw badArgument(
            `CNI_NETNS: ${shown(args.netns)} must be an absolute path, like /var/run/netns/cni-1 or /proc/4711/ns/net`,
        );
    }
}

function badArgument(message: string): CniCallError {
    return new CniCallError("INVALID_ENVIRONMENT_VARIABLES", "caller", message);
}

/**
 * The Pod of the call for the log, as "namespace/name". Empty for a call without a Pod, such as GC, or with invalid
 * arguments.
 */
export function podOf(args: CniCmdArgs): { readonly pod?: string } {
    try {
        const { podNamespace, podName } = parseCniArgs(args.args);
        return podNamespace === undefined || podName === undefined ? {} : { pod: `${podNamespace}/${podName}` };
    } catch {
        return {};
    }
}

/** The attachment of the call and its Pod; undefined as `podOf` is empty. */
export function podIfAny(args: CniCmdArgs): PodAttachment | undefined {
    try {
        return podAttachmentOf(args);
    } catch {
        return undefined;
    }
}

/** The attachment of the call, as the runtime names it. */
export function attachmentOf(args: CniCmdArgs): Attachment {
    return { containerId: args.containerId, ifName: args.ifname };
}

/** The attachment and its Pod, which ADD needs. Throws CniCallError if CNI_ARGS name none. */
export function podAttachmentOf(args: CniCmdArgs): PodAttachment {
    const { podName = "", podNamespace = "", podUid = "" } = parseCniArgs(args.args);
    if (podName === "" || podNamespace === "") {
        throw badArgument("CNI_ARGS: K8S_POD_NAME and K8S_POD_NAMESPACE are needed; antrea wires Kubernetes Pods only");
    }
    return { ...attachmentOf(args), podName, podNamespace, podUid };
}

/** The addresses of `prevResult`; undefined without one, or if it lists none. */
export function previousOf({ prevResult }: NetworkConfig): readonly Omit<InterfaceAddress, "gateway">[] | undefined {
    return prevResult?.ips?.map((ip) => {
        const [address = "", length = ""] = ip.address.split("/");
        return { ip: parseIp(address), prefixLength: Number(length) };
    });
}
