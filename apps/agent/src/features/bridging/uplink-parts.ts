import { OfPort } from "@antrea/flows";
import type { LifecyclePart } from "@antrea/runtime";
import { nodeUplink, type Uplink, type UplinkPlatform } from "../../platform/host/uplink/index.ts";
import type { NodePlatform } from "../../platform/node-platform.ts";
import type { Platform } from "../../platform/platform.ts";
import { UplinkKeeper } from "./uplink-keeper.ts";

const uplinkStopMs = 20_000;

/**
 * Builds the uplink from the agent's configuration and OVS state; moves nothing.
 *
 * @param isOthers whether a NIC that was moved, by a journal that is lost, is for another to bring back
 */
export function buildUplink(
    platform: UplinkPlatform & Pick<Platform, "bridge">,
    isOthers: (nic: string) => boolean,
): Uplink {
    return nodeUplink(platform, {
        ports: platform.bridge,
        module: "bridging",
        folder: platform.environment.stateFolder,
        uplinkOfPort: OfPort.uplink,
        hostOfPort: OfPort.host,
        isOwn: ({ name }) => !isOthers(name),
    });
}

/**
 * The parts of the agent that move the Node's interface to the bridge in bridging mode, and restore it. Outside
 * bridging mode they only restore an interface that an earlier start left moved.
 */
export interface UplinkParts {
    /**
     * Restores the interface at the end, also if the agent is stopped before its startup is complete. A part of its own,
     * before `recovery`: the Lifecycle does not stop a part whose start failed or was abandoned.
     */
    readonly end: LifecyclePart;
    /** Before anything that needs the network: a killed agent may have left the Node disconnected. */
    readonly recovery: LifecyclePart;
    /**
     * Moves the interface once the flows for its traffic are installed, by jobs, and restores it when the jobs have
     * ended, which would move it again, and before the flows are removed.
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
