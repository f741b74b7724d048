import type { Logger } from "@antrea/runtime";
import { changesPodCidrs } from "../../platform/node/node-changes.ts";
import type { Platform } from "../../platform/platform.ts";
import type { InterfaceControl } from "../../platform/pod-interfaces/index.ts";
import { IgnoredAnnotations } from "./ignored-annotations.ts";
import { IsolatedPods } from "./isolated-pods.ts";
import { isolatedInterfaces, subnetInterfaces, subnetWiring } from "./node-interfaces.ts";
import { SubnetAllocations, type SubnetWiring } from "./subnet-allocations.ts";
import { SubnetHolders } from "./subnet-holders.ts";

const resyncMs = 60_000;
/** Without new Pods a check makes no requests. */
const ignoredCheckMs = 1_000;

/**
 * Adds the jobs for a disabled AntreaIPAM gate: they report ignored annotations (every second) and isolated Pods (every
 * minute, and on changes of podCIDRs), and isolate Pods whose address is in the podCIDR of another Node. To be called
 * once: it also registers the gauge of isolated interfaces and listens to `nodes` for good.
 */
export function addJobsWithoutPools(
    {
        environment,
        events,
        jobs,
        kube,
        logger,
        metrics,
        nodes,
        netlink,
        podInterfaces,
    }: Pick<
        Platform,
        "environment" | "events" | "jobs" | "kube" | "logger" | "metrics" | "nodes" | "netlink" | "podInterfaces"
    >,
    control: InterfaceControl,
): void {
    const { nodeName } = environment;
    const common = { api: kube.api, events, logger: logger.child("ip-pools") };
    const ignored = new IgnoredAnnotations(
        { ...common, interfaces: () => subnetInterfaces(podInterfaces) },
        { nodeName },
    );
    const backoff = { initialMs: ignoredCheckMs, maxMs: resyncMs };
    jobs.every("ip-pools/ignored-annotations", ignoredCheckMs, (limit) => ignored.check(limit), { backoff });
    const holders = new SubnetHolders({ nodes }, { nodeName });
    const isolated = new IsolatedPods(
        { ...common, holders, metrics, interfaces: () => isolatedInterfaces(podInterfaces) },
        { nodeName },
    );
    const lostSubnets = subnetAllocationsWithoutPools({
        holders,
        wiring: subnetWiring({ podInterfaces, control, netlink }),
        logger: common.logger,
    });
    const checking = jobs.every("ip-pools/isolated-pods", resyncMs, async (limit) => {
        await lostSubnets.check(limit);
        await isolated.check(limit);
    });
    nodes.onChange((type, _name, node, old) => {
        if (changesPodCidrs(type, node, old)) checking.trigger();
    });
}

/**
 * Builds the podCIDR check without IPPools. It reads no allocations, and only logs what it isolates: IsolatedPods
 * records the events and the metric.
 */
export function subnetAllocationsWithoutPools(components: {
    readonly wiring: SubnetWiring;
    readonly holders: SubnetHolders;
    readonly logger: Logger;
}): SubnetAllocations {
    const done = (): boolean => true;
    const events = { claimedFromSubnet: done, reservedFromSubnet: done, anothersSubnet: done };
    const metrics = { heldElsewhere: () => undefined };
    return new SubnetAllocations({
        ...components,
        allocations: undefined,
        withNames: (wired) => wired,
        events,
        metrics,
    });
}
