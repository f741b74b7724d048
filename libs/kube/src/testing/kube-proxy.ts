/**
 * The KubeProxyConfiguration of kube-proxy in mode nftables, defaults otherwise, as text of its file (JSON, of which YAML is a
 * superset).
 *
 * @param more further keys
 */
export function kubeProxyConfig(
    { nodeName, kubeconfig }: { readonly nodeName: string; readonly kubeconfig: string },
    more: Readonly<Record<string, unknown>> = {},
): string {
    return JSON.stringify({
        apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
        kind: "KubeProxyConfiguration",
        mode: "nftables",
        hostnameOverride: nodeName,
        clientConnection: { kubeconfig },
        // sizes of a table that all network namespaces share
        conntrack: { maxPerCore: 0 },
        ...more,
    });
}
