import { OfPort } from "@antrea/flows";
import type { Family } from "@antrea/ip";
import { socketAddress } from "@antrea/kube";
import type { LifecyclePart } from "@antrea/runtime";
import type { Transport } from "../../platform/host/transport/index.ts";
import { podLinkGroup } from "../../platform/kernel-ids.ts";
import type { Platform } from "../../platform/platform.ts";
import { apiAnswers, isOwnHost } from "./api-reachable.ts";
import { ServiceRoute, type BridgedPods } from "./bridged-pods/index.ts";
import type { UplinkKeeper } from "./uplink-keeper.ts";
import { Uplink } from "./uplink/index.ts";

const resyncMs = 60_000;
const uplinkStopMs = 20_000;

/** Builds the uplink from the agent's configuration and OVS state. */
export function buildUplink(
    platform: Pick<
        Platform,
        "bridge" | "config" | "database" | "datapath" | "environment" | "kube" | "logger" | "netlink" | "openflow"
    >,
): Uplink {
    const { bridge, config, database, datapath, environment, kube, logger, netlink, openflow } = platform;
    return new Uplink(
        {
            netlink,
            ports: bridge,
            logger: logger.child("bridging"),
            apiReachable: (signal) => apiAnswers(kube, signal),
            apiIsLocal: async () => isOwnHost(socketAddress((await kube.connection()).server).host, netlink),
            ovsProblem: () => {
                if (database.problem !== undefined) return database.problem;
                if (database.lockState !== "locked") return "the lock of this Node's OVS database is not held";
                return openflow.state.kind === "ready" ? undefined : "ovs-vswitchd is not connected";
            },
        },
        {
            folder: environment.stateFolder,
            bootId: environment.bootId,
            checkTimeoutMs: config.uplink.checkTimeout,
            uplinkOfPort: OfPort.uplink,
            hostOfPort: OfPort.host,
            linkGroup: podLinkGroup,
            copiesFrames: datapath.copiesFrames,
            mustComputeChecksums: datapath.mustComputeChecksums,
        },
    );
}

/** Restores the Node's interface at the end, also if the agent is stopped before its startup is complete. */
export function uplinkEnd(keeper: UplinkKeeper): LifecyclePart {
    return { name: "uplink-end", stopTimeoutMs: uplinkStopMs, stop: () => keeper.stop() };
}

/**
 * Moves the Node's interface once the flows for its traffic are installed, and restores it before they are removed.
 *
 * @param transport returns the transport in bridging mode, once it is known
 */
export function uplinkPart(
    keeper: UplinkKeeper,
    isBridging: boolean,
    transport: () => Transport | undefined,
): LifecyclePart {
    return {
        name: "uplink",
        start: async () => {
            const known = transport();
            if (!isBridging) await keeper.leave();
            else if (known !== undefined) keeper.addJobs(known);
        },
        stopTimeoutMs: uplinkStopMs,
        stop: () => keeper.stop(),
    };
}

/** Adds the job for the routes of Service replies to bridged Pods; it removes them after bridging mode was disabled. */
export function addServiceRouteJob(
    { config, jobs, netlink, openflow }: Platform,
    isBridging: boolean,
    families: readonly Family[],
): void {
    const route = new ServiceRoute({ netlink }, { gatewayName: config.hostGateway });
    if (!isBridging) {
        jobs.once("bridging/service-routes", () => route.remove());
        return;
    }
    const ensuring = jobs.every("bridging/service-routes", resyncMs, () => route.ensure(families));
    openflow.onReady(() => ensuring.trigger());
}

/** Adds the job that retries VLAN flows that could not be set or removed when a Pod was added or removed. */
export function addBridgedPodsJob({ jobs, openflow }: Pick<Platform, "jobs" | "openflow">, pods: BridgedPods): void {
    const retrying = jobs.every("bridging/vlans", resyncMs, async (limit) => {
        const { againInMs } = await pods.pass(limit);
        return { againInMs };
    });
    openflow.onReady(() => retrying.trigger());
}
