import { type Family } from "@antrea/ip";
import { type StatefulSetPlace } from "@antrea/ipam";
import { type Allocation } from "../cluster/index.ts";
import { type Block } from "./block.ts";
import { allocationsOfOrdinal, nodeOf, type Facts } from "./facts.ts";
import { type PoolTrial } from "./pool-trials.ts";

/**
 * Why a Pod of a StatefulSet gets no address of the family: none is reserved for its ordinal, or an earlier Pod holds
 * it.
 */
export function sticky(
    facts: Facts,
    place: StatefulSetPlace,
    trials: readonly PoolTrial[],
    family: Family,
): readonly Block[] {
    const { pod } = facts;
    const allocation = allocationsOfOrdinal(facts.allocations, pod.namespace, place).find(
        ({ ip }) => ip.family === family,
    );
    const ordinal = `ordinal ${place.ordinal} of StatefulSet ${pod.namespace}/${place.name}`;
    if (allocation === undefined) {
        const exhausted = trials
            .filter(({ ipVersion }) => ipVersion === family)
            .every(({ outcome }) => outcome === "exhausted");
        if (!exhausted && facts.controller === "away")
            return [controllerAway(`no IPv${family} address is reserved for ${ordinal}`)];
        return [
            {
                what: `no IPv${family} address is reserved for ${ordinal}${exhausted ? ": the pools have no free address" : ""}`,
                next: exhausted
                    ? "add a range to a pool that the template names: the reservation follows by itself"
                    : "antrea-controller reserves one at once: see its log and the events of the StatefulSet",
            },
        ];
    }
    return allocation.pod === undefined ? [] : [heldByEarlier(facts, allocation, ordinal)];
}

function controllerAway(what: string): Block {
    return {
        what: `${what}: antrea-controller does not run: its lease is not renewed`,
        next: "see why: kubectl -n kube-system get pods -l component=antrea-controller; the reservation follows by itself",
    };
}

/** The address of the ordinal, as part of a sentence, is still used by an earlier Pod of the same name. */
export function heldByEarlier(
    facts: Pick<Facts, "controller" | "pools">,
    allocation: Allocation,
    ordinal: string,
): Block {
    const { nodeName = "", uid = "" } = allocation.pod ?? {};
    const node = nodeOf(facts, nodeName);
    const what = `${allocation.address}, kept for ${ordinal}, is still held by the earlier Pod (UID ${uid}) on Node ${nodeName}`;
    if (facts.controller === "away" && (node === undefined || node.outOfService)) {
        return controllerAway(`${what}, which is ${node === undefined ? "gone" : "out of service"}`);
    }
    if (node === undefined) {
        return {
            what: `${what}, which is gone`,
            next: "antrea-controller hands it over 5 minutes after the Node has gone",
        };
    }
    if (node.outOfService) {
        return {
            what: `${what}, which is out of service`,
            next: "antrea-controller hands it over: see its log if it does not",
        };
    }
    if (node.ready) {
        return {
            what,
            next: `the agent of Node ${nodeName} frees it once the old container is gone: see its log if it does not`,
        };
    }
    return {
        what: `${what}, which is not ready`,
        next:
            `if the machine is off for good, delete Node ${nodeName}, or mark it as out of service: ` +
            `kubectl taint node ${nodeName} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute`,
    };
}
