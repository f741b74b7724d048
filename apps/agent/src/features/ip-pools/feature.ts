import type { Feature } from "../../platform/feature.ts";
import { changesPodCidrs } from "../../platform/node/node-changes.ts";
import type { Platform } from "../../platform/platform.ts";
import type { IpPools } from "./ip-pools.ts";
import { poolWiring, subnetWiring } from "./node-interfaces.ts";
import { addJobsWithoutPools } from "./without-pools.ts";
import type { InterfaceControl, NetworkInterfaceView } from "../../platform/pod-interfaces/index.ts";

const resyncMs = 60_000;
const ownNodeCheckMs = 5_000;

/**
 * Querying an interface takes up to 3 s, so during an outage a pass over all interfaces of a Node takes minutes. A
 * longer pass waits for the initial list of allocations, which is reported as a failure of the job. The backoff is
 * short so that isolated Pods are reconnected soon after the API server recovers.
 */
const allocationsJob = { timeoutMs: 600_000, backoff: { initialMs: 1_000, maxMs: 10_000 } };

/**
 * Adds jobs, and listeners for changes of Nodes and IPPools that trigger them: they keep IPAllocations in sync with the
 * Pod interfaces or, without pools, report what is ignored.
 *
 * @param platform with the interfaces on other networks than the Pod network, if the agent makes any
 * @param pools undefined if the feature gate AntreaIPAM is disabled; the caller starts and closes it
 * @param control isolates and reconnects interfaces under the lock of their container
 */
export function ipPools(
    platform: Platform & { readonly networks?: NetworkInterfaceView },
    pools: IpPools | undefined,
    control: InterfaceControl,
): Feature {
    return {
        name: "ip-pools",
        start: () => {
            if (pools !== undefined) addPoolJobs(platform, pools, control);
            else addJobsWithoutPools(platform, control);
        },
    };
}

function addPoolJobs(
    {
        environment,
        jobs,
        netlink,
        networks,
        nodes,
        podInterfaces,
    }: Pick<Platform, "environment" | "jobs" | "netlink" | "nodes" | "podInterfaces"> & {
        readonly networks?: NetworkInterfaceView;
    },
    pools: IpPools,
    control: InterfaceControl,
): void {
    const wiring = poolWiring({ podInterfaces, networks, control, netlink });
    const ofSubnet = subnetWiring({ podInterfaces, control, netlink });
    const allocations = jobs.every(
        "ip-pools/allocations",
        resyncMs,
        (limit) => pools.reconcile(wiring, limit),
        allocationsJob,
    );
    pools.onReconcileDue(() => allocations.trigger());
    control.onAddsEnd((containerIdOrPodUid) => {
        if (pools.isDueAfterAdds(containerIdOrPodUid)) allocations.trigger();
    });
    const subnetAllocations = jobs.every("ip-pools/subnet-allocations", resyncMs, (limit) =>
        pools.podCidrs.check(ofSubnet, limit),
    );
    pools.podCidrs.onChange(() => subnetAllocations.trigger());
    jobs.every("ip-pools/own-node", ownNodeCheckMs, (limit) => pools.checkOwnNode(wiring, limit));
    nodes.onChange((type, name, node, old) => {
        const hasOtherPodCidrs = changesPodCidrs(type, node, old);
        // An address that left all IPPools may be assigned to another Node now.
        if (hasOtherPodCidrs || (type === "added" && name === environment.nodeName)) allocations.trigger();
        if (hasOtherPodCidrs) subnetAllocations.trigger();
    });
}
