import { formatIp, type Family } from "@antrea/ip";
import { checkPod, refusalText } from "@antrea/ipam";
import { holderText, isFinished, type Allocation } from "../cluster/index.ts";
import { type Block } from "./block.ts";
import { allocationsOfPod, runsOnNodeSubnet, type AddressRequest, type Facts } from "./facts.ts";
import { type PoolTrial } from "./pool-trials.ts";
import { sticky } from "./sticky-blocks.ts";

/**
 * The reasons why the Pod does not get the requested addresses; once it has them, only that its agent is not running
 * while the Pod is not. Empty for a Pod that has ended, is being deleted or runs on its Node's subnet, and if the gate
 * is off.
 */
export function blocksOf(facts: Facts, request: AddressRequest, trials: readonly PoolTrial[]): readonly Block[] {
    const { pod } = facts;
    if (isFinished(pod) || pod.deleting || facts.gate.state === "off" || runsOnNodeSubnet(facts)) return [];
    const missing = missingFamilies(facts, trials);
    if (missing.length === 0 && allocationsOfPod(facts).length > 0) return agentBlocks(facts);
    return [
        ...scheduling(facts),
        ...annotations(facts),
        ...unknownPools(trials),
        ...missing.flatMap((family) =>
            request.set === undefined
                ? plain(facts, request, trials, family)
                : sticky(facts, request.set, trials, family),
        ),
        ...agentBlocks(facts),
    ];
}

/** Families that the pools have and for which the Pod has no address. */
function missingFamilies(facts: Facts, trials: readonly PoolTrial[]): readonly Family[] {
    const has = new Set(allocationsOfPod(facts).map(({ ip }) => ip.family));
    const asked = new Set(trials.map(({ ipVersion }) => ipVersion).filter((family) => family !== undefined));
    return [...asked].filter((family) => !has.has(family));
}

function scheduling({ pod, unscheduled }: Facts): readonly Block[] {
    if (pod.nodeName !== undefined) return [];
    const [reason, step] =
        unscheduled === undefined
            ? ["", "see whether kube-scheduler runs if it stays so"]
            : [`: ${unscheduled}`, "change what the scheduler names, on the Pod or the Nodes"];
    return [
        { what: `the Pod has no Node yet${reason}`, next: `${step}; an address is claimed when the Pod has a Node` },
    ];
}

/** Applies the admission rules, which the agent also applies. */
function annotations({ pod, namespaceAnnotations, pools }: Facts): readonly Block[] {
    const object = { metadata: { annotations: pod.annotations }, spec: { hostNetwork: pod.hostNetwork } };
    const context = { pool: (name: string) => pools.get(name)?.pool, exclusions: pools.exclusions };
    const { errors } = checkPod({ old: undefined, object, namespace: namespaceAnnotations }, context);
    return errors
        .filter(({ rule }) => !rule.startsWith("there is no IPPool"))
        .map((refusal) => ({
            what: refusalText(refusal),
            next: "correct the annotation where it is set: the Pod, its template, or its Namespace",
        }));
}

function unknownPools(trials: readonly PoolTrial[]): readonly Block[] {
    return trials
        .filter(({ outcome }) => outcome === "unknown" || outcome === "unusable")
        .map(({ pool, text }) => ({
            what: `IPPool ${pool} ${text}`,
            next: "create or correct the IPPool, or name another one in the annotation",
        }));
}

function plain(facts: Facts, request: AddressRequest, trials: readonly PoolTrial[], family: Family): readonly Block[] {
    const ofFamily = trials.filter(({ ipVersion }) => ipVersion === family);
    if (ofFamily.some(({ outcome }) => outcome === "next" || outcome === "unusable")) return [];
    const fixed = request.fixed.find((ip) => ip.family === family);
    if (fixed !== undefined) {
        const holder = facts.allocations.find(({ address }) => address === formatIp(fixed));
        return holder === undefined ? [] : [fixedHeld(formatIp(fixed), holder)];
    }
    const names = ofFamily.map(({ pool }) => pool).join(" and ");
    return [
        {
            what: `no IPv${family} address is free: IPPool ${names} ${ofFamily.length > 1 ? "are" : "is"} exhausted`,
            next: "add a range to the pool, name a further pool in the annotation, or delete Pods that use it",
        },
    ];
}

function fixedHeld(address: string, holder: Allocation): Block {
    const what = `the fixed address ${address} is held by ${holderText(holder)}`;
    if (holder.pod === undefined) return { what, next: "choose another address in annotation ipam.antrea.io/pod-ips" };
    return {
        what,
        next: "delete that Pod, or choose another address; a Deployment with a fixed address needs strategy Recreate",
    };
}

function agentBlocks({ pod, agent }: Facts): readonly Block[] {
    if (pod.nodeName === undefined || pod.phase === "Running") return [];
    if (agent === undefined) {
        const what = `no antrea-agent runs on Node ${pod.nodeName}`;
        return [{ what, next: "see why the DaemonSet antrea-agent has no Pod there" }];
    }
    if (agent.phase === "Running") return [];
    const what = `the antrea-agent of Node ${pod.nodeName}, Pod ${agent.namespace}/${agent.name}, is ${agent.phase}`;
    return [{ what, next: `kubectl -n ${agent.namespace} describe pod ${agent.name}` }];
}
