import { secondaryBridgeCondition } from "@antrea/crd";
import type { LifecyclePart } from "@antrea/runtime";
import { movedNics, nicFolder, nodeUplink, type UplinkPlatform } from "../../platform/host/uplink/index.ts";
import { NodeCondition } from "../../platform/node/node-condition.ts";
import { nicsWithBridges } from "../../platform/ovs/bridge/index.ts";
import type { Platform } from "../../platform/platform.ts";
import { NicUplinks, type NicUplink } from "./nic-uplinks.ts";

export { type NicUplinks } from "./nic-uplinks.ts";

/** OpenFlow port numbers in the bridge of a NIC. */
const uplinkOfPort = 1;
const hostOfPort = 2;

const stopTimeoutMs = 20_000;
const conditionMs = 2_000;

/** Builds the uplink of a NIC from the agent's configuration and OVS state; moves nothing. */
export type NicUplinkOf = (...args: Parameters<typeof nodeUplink>) => NicUplink["uplink"];

/**
 * Builds the uplinks of NICs of `secondaryNetwork.ovsBridges`, and of those that an earlier start has moved; moves nothing.
 *
 * @param isOthers whether a NIC that appears moved, without a journal of its own, is the uplink of bridging mode
 * @param uplinkOf default: that of the Node on which the agent runs
 */
export function buildNicUplinks(
    platform: UplinkPlatform & Pick<Platform, "gates" | "switchBridges">,
    isOthers: (nic: string) => boolean,
    uplinkOf: NicUplinkOf = nodeUplink,
): NicUplinks {
    const { config, database, environment, gates, logger, switchBridges } = platform;
    const { stateFolder } = environment;
    const [wanted] = gates.enabled("SecondaryNetwork") ? config.secondaryNetwork.ovsBridges : [];
    return new NicUplinks(
        {
            logger: logger.child("secondary-bridge"),
            movedNics: () => movedNics(stateFolder),
            nicsWithBridges: () => nicsWithBridges(database),
            make: (nic) => {
                const bridge = switchBridges.nic(nic);
                const uplink = uplinkOf(platform, {
                    ports: bridge,
                    module: "secondary-bridge",
                    folder: nicFolder(stateFolder, nic),
                    uplinkOfPort,
                    hostOfPort,
                    nic,
                    isOwn: ({ name }) => name === nic && !isOthers(nic),
                });
                return { bridge, uplink };
            },
        },
        { nics: wanted?.physicalInterfaces ?? [] },
    );
}

/** The parts of the agent that bring NICs back to the Node: at the start what a killed agent left, and all at the end. */
export interface NicUplinkParts {
    /**
     * Gives the NICs back also if the agent is stopped before its startup is complete. A part of its own, before `recovery`:
     * the Lifecycle does not stop a part whose start failed or was abandoned.
     */
    readonly end: LifecyclePart;
    /** Before anything that needs the network. */
    readonly recovery: LifecyclePart;
    /** After the features: gives the NICs back before they are stopped, when the jobs have ended, which move them. */
    readonly move: LifecyclePart;
}

/**
 * Builds the parts, which start in the order of NicUplinkParts. At the end nothing is done if another agent holds the lock of
 * the database.
 */
export function nicUplinkParts(
    { database, environment, kube }: Pick<Platform, "database" | "environment" | "kube">,
    uplinks: Pick<NicUplinks, "recover" | "restore">,
): NicUplinkParts {
    const condition = new NodeCondition({ api: kube.api }, { nodeName: environment.nodeName });
    const stop = async (): Promise<void> => {
        if (database.lockState === "waiting") return;
        const moved = await uplinks.restore();
        if (moved.length === 0) return;
        // The move back breaks connections that the kernel masquerades, also those to the API server.
        kube.close();
        const message = `the agent has ended, and the Node has ${moved.join(", ")} back; the next agent connects it again`;
        await condition.setAtEnd(
            { type: secondaryBridgeCondition, status: "False", reason: "NICNotConnected", message },
            conditionMs,
        );
    };
    return {
        end: { name: "nic-end", stopTimeoutMs, stop },
        recovery: { name: "nic-recovery", start: (signal) => uplinks.recover(signal) },
        move: { name: "nics", stopTimeoutMs, stop },
    };
}
