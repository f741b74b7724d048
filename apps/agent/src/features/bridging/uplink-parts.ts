import { OfPort } from "@antrea/flows";
import { socketAddress } from "@antrea/kube";
import type { LifecyclePart } from "@antrea/runtime";
import { podLinkGroup } from "../../platform/kernel-ids.ts";
import type { NodePlatform } from "../../platform/node-platform.ts";
import type { Platform } from "../../platform/platform.ts";
import { apiAnswers, isOwnHost } from "../../platform/host/uplink/api-reachable.ts";
import { UplinkKeeper } from "./uplink-keeper.ts";
import { Uplink } from "../../platform/host/uplink/index.ts";

const uplinkStopMs = 20_000;

/** Builds the uplink from the agent's configuration and OVS state; moves nothing. */
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

/**
 * The parts of the agent that move the Node's interface to the bridge in bridging mode, and restore it. Outside
 * bridging mode they only restore an interface that an earlier start left moved.
 */
export interface UplinkParts {
    /** Restores the interface at the end, also if the agent is stopped before its startup is complete. */
    readonly end: LifecyclePart;
    /** Before anything that needs the network: a killed agent may have left the Node disconnected. */
    readonly recovery: LifecyclePart;
    /**
     * Moves the interface once the flows for its traffic are installed, by jobs, and restores it before they are
     * removed.
     *
     * @param connected what the move needs; undefined without a Pod network: nothing is moved then
     */
    move(connected: () => MovePlatform | undefined): LifecyclePart;
}

/** What the move of the Node's interface needs. */
export interface MovePlatform extends Pick<NodePlatform, "transport"> {
    /** Announces the bridged Pods to the underlay. */
    readonly announcePods: () => void;
}

/**
 * Builds the parts of the uplink, and in bridging mode adds the readiness check `uplink`. Start order: `end`, which
 * needs the session with the OVS database, `recovery` before all that needs the network, `move` after the flows.
 */
export function uplinkParts(
    platform: Pick<
        Platform,
        "config" | "database" | "environment" | "events" | "health" | "jobs" | "kube" | "openflow"
    >,
    uplink: Pick<Uplink, "state" | "recover" | "connect" | "check" | "restore">,
): UplinkParts {
    const keeper = new UplinkKeeper({ ...platform, uplink });
    const isBridging = platform.config.enableBridgingMode;
    if (isBridging) platform.health.addCheck("uplink", "ready", () => keeper.problem);
    const stopTimeoutMs = uplinkStopMs;
    const stop = (): Promise<void> => keeper.stop();
    return {
        end: { name: "uplink-end", stopTimeoutMs, stop },
        recovery: { name: "uplink-recovery", start: async (signal) => void (await uplink.recover(signal)) },
        move: (connected) => ({
            name: "uplink",
            start: async () => {
                const known = connected();
                if (!isBridging) await keeper.leave();
                else if (known !== undefined) keeper.addJobs(known.transport, known.announcePods);
            },
            stopTimeoutMs,
            stop,
        }),
    };
}
