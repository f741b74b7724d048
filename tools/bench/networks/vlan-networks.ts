import { ipPools } from "@antrea/crd";
import { networkAttachmentDefinitions, type KubeObject } from "@antrea/kube";
import { type TestApiServer } from "@antrea/kube/testing";

/** The annotation by which a Pod requests networks. */
const networksKey = "k8s.v1.cni.cncf.io/networks";
const firstVlan = 101;

/** A VLAN network with an IPPool of its own. */
export interface VlanNetwork {
    /** Of the NetworkAttachmentDefinition and of the IPPool. */
    readonly name: string;
    readonly vlan: number;
    /** CNI network configuration, with its name. */
    readonly config: string;
}

/** So many networks, in VLANs and subnets of their own. */
export function vlanNetworks(count: number): readonly VlanNetwork[] {
    return Array.from({ length: count }, (_, index) => {
        const vlan = firstVlan + index;
        const name = `vlan${vlan}`;
        const ipam = { type: "antrea", ippools: [name] };
        const config = { cniVersion: "1.0.0", name, type: "antrea", networkType: "vlan", vlan, ipam };
        return { name, vlan, config: JSON.stringify(config) };
    });
}

/** The annotation of a Pod that requests the networks; its interfaces are eth1, eth2, … in their order. */
export function requesting(networks: readonly VlanNetwork[]): Readonly<Record<string, string>> {
    return networks.length === 0 ? {} : { [networksKey]: networks.map(({ name }) => name).join(",") };
}

/** Installs the CustomResourceDefinition of networks, and creates these with their IPPools. The Namespace must exist. */
export async function createNetworks(
    server: TestApiServer,
    namespace: string,
    networks: readonly VlanNetwork[],
): Promise<void> {
    await server.apply([definition]);
    const { api } = server.clients();
    for (const { name, vlan, config } of networks) {
        // 1,022 addresses: what a run gives back cools down while the next one claims.
        const base = `10.${vlan}`;
        const range = { cidr: `${base}.0.0/22`, gateway: `${base}.3.254`, prefixLength: 16 };
        await api.create(ipPools, { metadata: { name }, spec: { ipVersion: 4, ipRanges: [range] } });
        await api.create(networkAttachmentDefinitions, { metadata: { namespace, name }, spec: { config } });
    }
}

const { group, version, plural, kind } = networkAttachmentDefinitions;
const config = { type: "object", properties: { config: { type: "string" } } };
const schema = { openAPIV3Schema: { type: "object", properties: { spec: config } } };
/** As in the multi-network specification 1.3 of the Network Plumbing Working Group, which users install. */
const definition: KubeObject & { readonly spec: object } = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
        group,
        scope: "Namespaced",
        names: { plural, singular: "network-attachment-definition", kind },
        versions: [{ name: version, served: true, storage: true, schema }],
    },
};
