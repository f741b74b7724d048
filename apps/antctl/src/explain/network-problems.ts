import { AntreaError } from "@antrea/errors";
import { ipv6MtuFault, type AddressPlan, type OwnNetwork } from "@antrea/networks";
import { type Allocation } from "../cluster/index.ts";
import { blockOf, type Block } from "./block.ts";
import { nodeOf, type Facts } from "./facts.ts";
import { type JudgedTrial } from "./network-trials.ts";
import { type RequestedNetwork } from "./requested-networks.ts";

/** Something that is wrong with a network; `stops`: the Pod does not start with it. */
export interface Problem extends Block {
    readonly stops: boolean;
}

/** The plan, or why there is none. */
export function settledPlan(
    network: string,
    plan: () => AddressPlan,
): { readonly plan: AddressPlan } | { readonly problem: Problem } {
    try {
        return { plan: plan() };
    } catch (error) {
        if (!(error instanceof AntreaError) || error.fault === "internal") throw error;
        const next = "correct the network, or the annotation";
        return { problem: { ...blockOf(`network ${network}: ${error.message}`, next), stops: true } };
    }
}

/** What keeps an interface, of this or another plugin, from addresses of IPPools, besides the state of each pool. */
export function poolProblems(
    { gate, pod }: Facts,
    network: string,
    trials: readonly JudgedTrial[],
    has: readonly Allocation[],
): readonly Problem[] {
    if (trials.every(({ trial }) => trial.pool === undefined)) return [];
    const problems: Problem[] = [];
    if (gate.state === "off") {
        const what = `network ${network}: its IPPools cannot be used, as the feature gate AntreaIPAM is off`;
        const next = "install with featureGates.AntreaIPAM=true, or remove ipam.ippools";
        problems.push({ what, next, stops: true });
    }
    if (pod.phase === "Running" && has.length === 0) {
        const what = `network ${network}: the running Pod has no address of an IPPool on it; a change of the annotation has no effect on a running Pod`;
        const next = "delete the Pod, so that it is created again with the annotation";
        problems.push({ what, next, stops: false });
    }
    return problems;
}

/** Requested addresses that do not reach the plugin. */
export function unheardIps({ network, selection }: RequestedNetwork): readonly Problem[] {
    if (network.kind !== "delegated" || network.takesIps || selection.ips.length === 0) return [];
    const what = `network ${network.network}: the requested addresses have no effect, as its plugin has no capability ips`;
    return [{ what, next: 'add "capabilities": {"ips": true} to its configuration', stops: false }];
}

/** What is wrong with a network that the agent attaches, besides its addresses. */
export function ownProblems(
    facts: Facts,
    requested: RequestedNetwork,
    { ipam, kind, mtu, network }: OwnNetwork,
    trials: readonly JudgedTrial[],
): readonly Problem[] {
    const { selection } = requested;
    const problems: Problem[] = [];
    const add = (stops: boolean, what: string, next: string): void =>
        void problems.push({ what: `network ${network}: ${what}`, next, stops });
    if (ipam === undefined && selection.ips.length > 0) {
        const next = 'request no address, or give the network an ipam of type "antrea"';
        add(true, "the requested addresses cannot be had, as the network has no ipam", next);
    }
    const hasIpv6 = trials.some(({ trial }) => trial.ipVersion === 6);
    const lowMtu = mtu === undefined || !hasIpv6 ? undefined : ipv6MtuFault(mtu);
    if (lowMtu !== undefined) add(true, `mtu: ${mtu} ${lowMtu.rule}`, lowMtu.next);
    if (selection.ignored.length > 0) {
        add(false, `the keys ${selection.ignored.join(", ")} of the annotation have no effect`, "remove them");
    }
    if (kind === "sriov") return [...problems, ...functionProblems(facts, requested)];
    const node = nodeOf(facts, facts.pod.nodeName);
    if (node !== undefined && node.networkBridge === undefined) {
        const next = "name a bridge and its NICs in secondaryNetwork.ovsBridges";
        add(true, `Node ${node.name} reports no bridge for it`, next);
    }
    if (node?.networkBridge?.ready === false) {
        const { connectsPods, message } = node.networkBridge;
        const what = connectsPods ? "connects Pods, but is not as configured" : "connects no Pod";
        add(!connectsPods, `the bridge of Node ${node.name} ${what}: ${message}`, "correct what it reports");
    }
    return problems;
}

/** What keeps the Pod from a virtual function, as far as the API server knows it: the kubelet knows its devices. */
function functionProblems({ networks, pod }: Facts, requested: RequestedNetwork): readonly Problem[] {
    const { network, selection } = requested;
    if (network.kind !== "sriov" || network.resourceName === undefined) return [];
    const { network: name, resourceName } = network;
    const problems: Problem[] = [];
    if (selection.mac !== undefined) {
        const what = `network ${name}: the MAC address ${selection.mac} cannot be had, as a virtual function keeps its own`;
        problems.push({ what, next: "request none in the annotation", stops: true });
    }
    const ofResource = (networks?.requested ?? []).filter(
        (one) => one.network.kind === "sriov" && one.network.resourceName === resourceName,
    );
    const limit = pod.limits[resourceName] ?? 0;
    if (ofResource.indexOf(requested) >= limit) {
        const what = `network ${name}: the Pod requests ${limit} of the devices ${resourceName}, and its networks need ${ofResource.length}`;
        problems.push({ what, next: "request one for each in resources.limits of a container", stops: true });
    }
    return problems;
}

/** The VLAN of the network, 0 for untagged, else those of the addresses that the IPPools may give, which must agree. */
export function vlansOf(
    { pools }: Facts,
    { kind, network, vlan }: OwnNetwork,
    plan: AddressPlan | undefined,
): { readonly vlans: readonly number[]; readonly problems: readonly Problem[] } {
    if (kind === "sriov") return { vlans: [], problems: [] };
    if (vlan !== undefined) return { vlans: [vlan], problems: [] };
    const demanded = (plan?.demands ?? []).flatMap(({ pool: name, fixed }) => {
        const pool = pools.get(name)?.pool;
        const subnets = fixed === undefined ? pool?.subnets : [pool?.subnetOf(fixed)];
        const vlans = new Set((subnets ?? []).flatMap((subnet) => subnet?.vlan ?? []));
        return vlans.size === 0 ? [] : [{ name, vlans }];
    });
    const all = [...new Set(demanded.flatMap(({ vlans }) => [...vlans]))].sort((a, b) => a - b);
    if (all.length <= 1) return { vlans: all.length === 0 ? [0] : all, problems: [] };
    const areApart = all.every((one) => demanded.some(({ vlans }) => !vlans.has(one)));
    const texts = demanded.map(({ name, vlans }) => `${name}: ${[...vlans].join(" or ")}`);
    const next = "set vlan in the network, or name IPPools of one VLAN";
    const what = `network ${network}: its IPPools have different VLANs (${texts.join(", ")}), and an interface has one`;
    return { vlans: all, problems: [{ what, next, stops: areApart }] };
}
