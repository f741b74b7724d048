import { CniCallError, parseNetworkConfig } from "@antrea/cni";
import { isErrorOf } from "@antrea/errors";
import {
    networkOfCall,
    NetworkError,
    parseNetwork,
    resourceNameAnnotation,
    type ForeignNetwork,
    type OwnNetwork,
} from "@antrea/networks";
import { hasMoreLevels, isRecord, json, parsed } from "../fixture.ts";
import { BrokenProperty, mustEqual, type Target } from "../target.ts";

const ipam = {
    type: "antrea",
    ippools: ["vlan100-ipv4", "vlan100-ipv6"],
    addresses: [{ address: "10.10.0.1/24", gateway: "10.10.0.254" }, { address: "fd00::5/64" }],
    routes: [{ dst: "192.168.0.0/16", gw: "10.10.5.1" }],
    dns: { nameservers: ["8.8.8.8"], domain: "example.com", search: ["example.com"] },
};
const vlan = { cniVersion: "0.3.0", type: "antrea", networkType: "vlan", vlan: 100, mtu: 1500, ipam };
const macvlan = { cniVersion: "1.0.0", type: "macvlan", master: "eth0", mode: "bridge", ipam };

/** `spec.config` of NetworkAttachmentDefinitions, and the configuration of a call for one interface. */
export const target: Target = {
    // Large enough for values that overflow a stack.
    maxBytes: 40_000,
    format: "json",
    seeds: () => [
        json(vlan),
        json({ ...vlan, name: "net1", vlan: 0, mtu: undefined, ipam: undefined }),
        json({ cniVersion: "0.3.0", name: "list", plugins: [{ ...vlan, cniVersion: undefined }] }),
        json({ cniVersion: "1.0.0", plugins: [macvlan, { type: "tuning" }] }),
        json({ cniVersion: "1.0.0", plugins: [vlan, { type: "tuning" }] }),
        json({ ...vlan, networkType: "sriov", vlan: undefined }),
        json({ ...vlan, mtu: 1279 }),
        json({ ...vlan, vlan: 4095 }),
        json({ ...vlan, ipam: { type: "host-local" } }),
        json({ ...vlan, ipam: { type: "antrea" } }),
        json(macvlan),
        json({ ...vlan, name: "net1", runtimeConfig: { ips: ["10.10.0.7/24"], mac: "02:00:00:00:00:01" } }),
        "{",
        "",
    ],
    tokens: ["plugins", "networkType", "vlan", "sriov", "antrea", "ippools", "addresses"],
    run: (input) => {
        const config = new TextDecoder().decode(input);
        const called = ofCall(input);
        const network = read(config);
        check(network);
        if (network.kind !== "foreign" && called !== undefined) {
            mustEqual(
                "the network of a call",
                { ...called, network: "", resourceName: network.resourceName },
                unnamed(network),
            );
        }
        const document = parsed(input);
        if (!isRecord(document) || Array.isArray(document.plugins) || hasMoreLevels(document)) return;
        const { cniVersion, name, ...plugin } = document;
        mustEqual("the only plugin of a list", read(json({ cniVersion, name, plugins: [plugin] })), network);
    },
    isRefusal: (error) => isErrorOf(NetworkError, error, "INVALID_NETWORK"),
};

function read(config: string): OwnNetwork | ForeignNetwork {
    const annotations = { [resourceNameAnnotation]: "intel.com/sriov_net_a" };
    return parseNetwork({ namespace: "networks", name: "net1", annotations, config });
}

/** Undefined if one of the two parsers rejects it. */
function ofCall(input: Uint8Array): OwnNetwork | undefined {
    try {
        const network = networkOfCall(parseNetworkConfig(input), "default");
        check(network);
        return network;
    } catch (error) {
        if (error instanceof NetworkError || error instanceof CniCallError) return undefined;
        throw error;
    }
}

function check(network: OwnNetwork | ForeignNetwork): void {
    if (network.kind === "foreign") {
        if (network.type === "" || network.type === "antrea") throw new BrokenProperty(`foreign type ${network.type}`);
        return;
    }
    const { kind, ipam: section, mtu, vlan: id } = network;
    const isVlan = id === undefined || (kind === "vlan" && Number.isInteger(id) && id >= 1 && id <= 4094);
    if (!isVlan) throw new BrokenProperty(`VLAN ${id} of a network of kind ${kind}`);
    if (mtu !== undefined && !(Number.isInteger(mtu) && mtu >= 68 && mtu <= 65_535)) {
        throw new BrokenProperty(`MTU ${mtu}`);
    }
    if (section !== undefined && section.ippools.length === 0 && section.addresses.length === 0) {
        throw new BrokenProperty("an IPAM section without addresses");
    }
}

function unnamed(network: OwnNetwork): OwnNetwork {
    return { ...network, network: "" };
}
