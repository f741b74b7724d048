import { CniCallError, shown, type NetworkConfig } from "@antrea/cni";

/** The type of the plugin, and the file name of its binary. */
const pluginType = "antrea";

/**
 * The IPAM type in the CNI configuration of upstream Antrea (Go) for the Pod network: addresses of the Node's podCIDRs.
 */
const nodeSubnetIpam = "host-local";

/** What a call is for, by the network configuration that it carries. */
export type CallPurpose =
    /** The Pod's own interface, on the Pod network. */
    | { readonly kind: "pod-network" }
    /** Only the addresses of an interface, which another plugin makes. */
    | { readonly kind: "addresses" }
    /** One interface on another network, which a meta plugin asks for; the value of `networkType` is not checked. */
    | { readonly kind: "network"; readonly networkType: unknown }
    | { readonly kind: "unserved"; readonly error: CniCallError };

/**
 * What a call with this network configuration is for. The error of one that is not served has the code
 * `UNSUPPORTED_FIELD`. Throws nothing.
 */
export function purposeOf(config: NetworkConfig): CallPurpose {
    const { type, ipam } = config;
    if (type !== pluginType && ipam?.type === pluginType) return { kind: "addresses" };
    const networkType = config.raw["networkType"] ?? undefined;
    if (type === pluginType && networkType !== undefined) return { kind: "network", networkType };
    const error = unserved(config);
    return error === undefined ? { kind: "pod-network" } : { kind: "unserved", error };
}

function unserved({ type, ipam }: NetworkConfig): CniCallError | undefined {
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
