import { type AddressPlan } from "@antrea/networks";
import { isFinished, type Allocation, type Gate } from "../cluster/index.ts";
import { type Block } from "./block.ts";
import { networkAllocationsOf, type Facts } from "./facts.ts";
import { matchNetworks } from "./network-matches.ts";
import { planOf, sectionOf } from "./network-plan.ts";
import { ownProblems, poolProblems, settledPlan, unheardIps, vlansOf, type Problem } from "./network-problems.ts";
import { tryPlan, type JudgedTrial, type NetworkTrial } from "./network-trials.ts";
import { type RequestedNetwork } from "./requested-networks.ts";

/** An allocation of an interface of the Pod. */
export interface InterfaceAddress {
    readonly address: string;
    readonly pool: string;
    readonly interface: string;
    readonly since?: string;
}

/** One network that the Pod requests. */
export interface NetworkReport {
    /** `namespace/name`. */
    readonly network: string;
    /** As allocated, requested, or usually chosen. */
    readonly interface: string;
    /** Who makes the interface; `Unknown` if the network could not be read. */
    readonly attachedBy: "Agent" | "OtherPlugin" | "Nobody" | "Unknown";
    /** The same as text. */
    readonly by: string;
    /** The VLAN of an interface that the agent makes, 0 for untagged; several if it depends on the address. */
    readonly vlans: readonly number[];
    /** Where its addresses come from, in the order of the network; empty if they are not Antrea's. */
    readonly addresses: readonly NetworkTrial[];
    /** The allocations that the Pod has for it. */
    readonly has: readonly InterfaceAddress[];
}

/** The networks of a Pod, as `-o json` prints them. */
export interface NetworksReport {
    /** The feature gate SecondaryNetwork; `unknown` also for a Pod that requests no network. */
    readonly gate: Gate["state"];
    readonly requested: readonly NetworkReport[];
    /** Allocations for interfaces that the annotation does not request. */
    readonly others: readonly InterfaceAddress[];
    /** What is wrong with them and does not keep the Pod from its start. */
    readonly notes: readonly Block[];
}

/** The networks that the Pod requests, and what keeps it from its start because of them. Sends no request. */
export function explainNetworks(facts: Facts): { readonly report: NetworksReport; readonly blocks: readonly Block[] } {
    const { networks, pod } = facts;
    const { found, others } = matchNetworks(networkAllocationsOf(facts), networks?.requested ?? []);
    const judged = found.map(({ requested, has }) => judge(facts, requested, has));
    const gate = networks?.gate.state ?? "unknown";
    const problems = [
        ...(networks?.problem === undefined ? [] : [{ ...networks.problem, stops: gate !== "off" }]),
        ...judged.flatMap((one) => one.problems),
    ];
    const isOver = isFinished(pod) || pod.deleting;
    const isWaiting = !isOver && pod.phase !== "Running";
    const select = (isBlock: boolean): readonly Block[] =>
        problems.filter(({ stops }) => (stops && isWaiting) === isBlock).map(({ what, next }) => ({ what, next }));
    const report = {
        gate,
        requested: judged.map((one) => one.report),
        others: others.map(addressOf),
        notes: isOver ? [] : select(false),
    };
    return { report, blocks: select(true) };
}

interface Judged {
    readonly report: NetworkReport;
    readonly problems: readonly Problem[];
}

function judge(facts: Facts, requested: RequestedNetwork, has: readonly Allocation[]): Judged {
    const { network } = requested;
    const isOff = facts.networks?.gate.state === "off";
    const ifName = has[0]?.pod?.interface ?? requested.ifName;
    const common = { network: network.network, interface: ifName, vlans: [], addresses: [], has: has.map(addressOf) };
    switch (network.kind) {
        case "unread": {
            const stops = !network.isForbidden && !isOff;
            return {
                report: { ...common, attachedBy: "Unknown", by: "not known" },
                problems: [{ ...network.problem, stops }],
            };
        }
        case "foreign": {
            const by = `plugin "${network.type}", if a meta plugin such as Multus calls it; no addresses of Antrea`;
            return { report: { ...common, attachedBy: "OtherPlugin", by }, problems: [] };
        }
        case "delegated": {
            const { addresses, problems } = addressesOf(facts, requested, { ifName, has });
            const by = `plugin "${network.type}", if a meta plugin such as Multus calls it; addresses of Antrea`;
            return {
                report: { ...common, addresses, attachedBy: "OtherPlugin", by },
                problems: [...problems, ...unheardIps(requested)],
            };
        }
        default: {
            const { addresses, plan, trials, problems } = addressesOf(facts, requested, { ifName, has });
            const { vlans, problems: apart } = vlansOf(facts, network, plan);
            const report = { ...common, vlans, addresses };
            if (!isOff) {
                return {
                    report: { ...report, attachedBy: "Agent", by: "antrea-agent" },
                    problems: [...ownProblems(facts, requested, network, trials), ...apart, ...problems],
                };
            }
            const what = `network ${network.network}: Antrea does not attach it, as the feature gate SecondaryNetwork of antrea-agent is off`;
            const next = "install with featureGates.SecondaryNetwork=true and secondaryNetwork.ovsBridges";
            return {
                report: { ...report, attachedBy: "Nobody", by: "nobody: the feature gate SecondaryNetwork is off" },
                problems: [{ what, next, stops: false }],
            };
        }
    }
}

/** Where the addresses of an interface come from, and what keeps it from them. */
function addressesOf(
    facts: Facts,
    requested: RequestedNetwork,
    { ifName, has }: { readonly ifName: string; readonly has: readonly Allocation[] },
): {
    readonly plan?: AddressPlan;
    readonly trials: readonly JudgedTrial[];
    readonly addresses: readonly NetworkTrial[];
    readonly problems: readonly Problem[];
} {
    const ipam = sectionOf(requested);
    const { network } = requested.network;
    if (ipam === undefined) return { trials: [], addresses: [], problems: [] };
    const settled = settledPlan(network, () => planOf(ipam, requested, facts.pools));
    if ("problem" in settled) return { trials: [], addresses: [], problems: [settled.problem] };
    const { plan } = settled;
    const trials = tryPlan(facts, plan, { network, ifName, has });
    const missing = trials.flatMap(({ problem }) => (problem === undefined ? [] : [{ ...problem, stops: true }]));
    return {
        plan,
        trials,
        addresses: trials.map(({ trial }) => trial),
        problems: [...missing, ...poolProblems(facts, network, trials, has)],
    };
}

function addressOf({ address, pool, pod, since }: Allocation): InterfaceAddress {
    return { address, pool, interface: pod?.interface ?? "", ...(since === undefined ? {} : { since }) };
}
