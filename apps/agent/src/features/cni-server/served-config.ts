import { CniCallError, shown, type NetworkConfig } from "@antrea/cni";

/** The type of the plugin, and the file name of its binary. */
const pluginType = "antrea";

/**
 * The IPAM type in the CNI configuration of upstream Antrea (Go) for the Pod network: addresses of the Node's podCIDRs.
 */
const nodeSubnetIpam = "host-local";

/**
 * The error `UNSUPPORTED_FIELD` for a network configuration that is not served, or undefined if it is: only the Pod
 * network is. Throws nothing. Secondary networks, or IPAM for other plugins, would otherwise become another interface
 * on the Pod network with the Pod's default route.
 */
export function unservedConfig(config: NetworkConfig): CniCallError | undefined {
    const { type, ipam, raw } = config;
    const networkType = raw["networkType"] ?? undefined;
    if (networkType !== undefined) {
        return refused(
            "networkType",
            networkType,
            "secondary networks are not available in this version",
            "take the NetworkAttachmentDefinition out of the Pod's annotation k8s.v1.cni.cncf.io/networks, or serve it by another plugin",
        );
    }
    if (type !== pluginType && ipam?.type === pluginType) {
        return refused(
            "ipam.type",
            ipam.type,
            `IPPools give no addresses to interfaces of other plugins (type ${shown(type)}) in this version`,
            "use another IPAM plugin in that network, like whereabouts, host-local or static",
        );
    }
    if (type !== pluginType) {
        return refused(
            "type",
            type,
            "the configuration is of another plugin",
            `let the container runtime call that plugin, or use type ${shown(pluginType)}`,
        );
    }
    if (ipam !== undefined && ipam.type !== nodeSubnetIpam) {
        return refused(
            "ipam.type",
            ipam.type,
            "addresses of the Pod network come from the Node's subnet, or from the IPPools that the Pod or its Namespace names",
            "remove ipam from the CNI configuration; for a pool annotate the Pod or its Namespace with ipam.antrea.io/ippools",
        );
    }
    return undefined;
}

function refused(key: string, value: unknown, why: string, next: string): CniCallError {
    return new CniCallError(
        "UNSUPPORTED_FIELD",
        "caller",
        `${key}: ${shown(value)} is not served: ${why}; next: ${next}`,
    );
}
