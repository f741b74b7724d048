import type { Job } from "@antrea/runtime";
import type { NodePlatform } from "../../platform/node-platform.ts";
import { BridgeDevice } from "../../platform/ovs/bridge/index.ts";
import { LockGuard } from "../../platform/ovs/lock-guard.ts";
import type { Platform } from "../../platform/platform.ts";
import { keepNetwork } from "./keep-network.ts";
import { LostBandwidth } from "./lost-bandwidth.ts";
import type { PodReconciler } from "./reconciler.ts";

const resyncMs = 60_000;
const lockCheckMs = 10_000;

/**
 * Adds the job that keeps the OVS state as desired and the records in sync with the running containers, every minute
 * and after each reconnect, and the readiness checks `bridge-device` and `pod-interfaces`. It sets the readiness
 * conditions `ovsdb` and `gateway`. Returns the job, to trigger it.
 */
export function addOvsJob(platform: NodePlatform, reconciler: PodReconciler): Job {
    const { bridge, bridgedMac, config, database, flowTable, gateway, health, jobs, logger, netlink } = platform;
    const { openflow, pipeline, probe, readiness, services } = platform;
    const bridgeDevice = new BridgeDevice(
        { bridge, netlink, logger: logger.child("pod-network") },
        { bridge: config.ovsBridge, datapathType: config.ovsDatapathType },
    );
    // Reported only: it does not prevent Pods from being wired.
    health.addCheck("bridge-device", "ready", () => bridgeDevice.problem);
    health.addCheck("pod-interfaces", "ready", () => reconciler.problem);
    const applyPipeline = (limit: AbortSignal): Promise<void> => pipeline.applyTo(flowTable, limit);
    const ovs = jobs.every("pod-network/ovs", resyncMs, async (limit) => {
        await bridge.ensure(limit);
        // A bridge that is recreated after its database was lost has none.
        if (bridgedMac !== undefined) await bridge.fixDatapathId(bridgedMac, limit);
        // The transaction succeeded, so the session is connected and holds the lock.
        readiness.met("ovsdb");
        await probe.passed(limit);
        await keepNetwork({ bridge, bridgeDevice, flowTable, gateway, applyPipeline, readiness, reconciler }, limit);
    });
    database.onConnect(() => ovs.trigger());
    database.onLockChange((state) => {
        if (state !== "locked") readiness.unmet("ovsdb", "the lock of this Node's OVS database is not held");
        ovs.trigger();
    });
    openflow.onReady(() => ovs.trigger());
    // The pipeline has flows to them.
    services?.onServiceCidrs(() => ovs.trigger());
    return ovs;
}

/**
 * Adds the job that ends the process, by `fail`, when two checks in a row, 10 s apart, find that another agent holds
 * the lock of the OVS database.
 */
export function addLockJob({ database, fail, jobs }: Pick<Platform, "database" | "fail" | "jobs">): void {
    const guard = new LockGuard({ lockState: () => database.lockState, fail });
    jobs.every("pod-network/ovsdb-lock", lockCheckMs, () => guard.check());
}

/** Adds the job that reports bandwidth limits of Pods that a start of OVS has removed: see LostBandwidth. */
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
    jobs.every("pod-network/lost-bandwidth", resyncMs, (limit) => lost.check(limit));
    openflow.onReady(() => lost.ovsConnected());
}
