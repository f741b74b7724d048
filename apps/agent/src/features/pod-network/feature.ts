import type { Job } from "@antrea/runtime";
import { BridgeDevice } from "../../platform/ovs/bridge/index.ts";
import { LockGuard } from "../../platform/ovs/lock-guard.ts";
import type { Platform } from "../../platform/platform.ts";
import { keepNetwork, type NetworkParts } from "./keep-network.ts";
import { LostBandwidth } from "./lost-bandwidth.ts";
import type { PodReconciler } from "./reconciler.ts";

const resyncMs = 60_000;
const lockLookMs = 10_000;

/** Adds the jobs that keep the OVS state as desired and the records in sync with the running containers. */
export function addOvsJobs(
    platform: Platform,
    {
        bridgedMac,
        gateway,
        pipeline,
        reconciler,
    }: Pick<NetworkParts, "gateway" | "pipeline"> & {
        readonly reconciler: PodReconciler;
        /** In bridging mode: the MAC address from which the bridge derives its datapath ID. */
        readonly bridgedMac: (() => string) | undefined;
    },
): Job {
    const { bridge, config, database, flowTable, jobs, logger, netlink, openflow, probe, readiness } = platform;
    const bridgeDevice = new BridgeDevice(
        { bridge, netlink, logger: logger.child("pod-network") },
        { bridge: config.ovsBridge, datapathType: config.ovsDatapathType },
    );
    // Reported only: it does not prevent Pods from being wired.
    platform.health.addCheck("bridge-device", "ready", () => bridgeDevice.problem);
    platform.health.addCheck("pod-interfaces", "ready", () => reconciler.problem);
    const ovs = jobs.every("pod-network/ovs", resyncMs, async (limit) => {
        await bridge.ensure(limit);
        // A bridge that is recreated after its database was lost has none.
        if (bridgedMac !== undefined) await bridge.fixDatapathId(bridgedMac(), limit);
        // The transaction succeeded, so the session is connected and holds the lock.
        readiness.met("ovsdb");
        await probe.passed(limit);
        await keepNetwork({ bridge, bridgeDevice, flowTable, gateway, pipeline, readiness, reconciler }, limit);
    });
    database.onConnect(() => ovs.trigger());
    database.onLockChange((state) => {
        if (state !== "locked") readiness.unmet("ovsdb", "the lock of this Node's OVS database is not held");
        ovs.trigger();
    });
    openflow.onReady(() => ovs.trigger());
    const guard = new LockGuard({ lockState: () => database.lockState, fail: platform.fail });
    jobs.every("pod-network/ovsdb-lock", lockLookMs, () => guard.look());
    return ovs;
}

/** Adds the job that reports bandwidth limits of Pods that a start of OVS has removed. */
export function addBandwidthJob({
    jobs,
    events,
    host,
    kube,
    environment,
    logger,
    openflow,
    podInterfaces,
}: Pick<
    Platform,
    "jobs" | "events" | "host" | "kube" | "environment" | "logger" | "openflow" | "podInterfaces"
>): void {
    const lost = new LostBandwidth(
        {
            api: kube.api,
            events,
            logger: logger.child("pod-network"),
            interfaces: () => podInterfaces.list().map(({ record }) => record),
            qdiscs: () => host.run("tc", ["-j", "qdisc", "show"]),
        },
        { nodeName: environment.nodeName },
    );
    lost.ovsConnected();
    jobs.every("pod-network/lost-bandwidth", resyncMs, (limit) => lost.look(limit));
    openflow.onReady(() => lost.ovsConnected());
}
