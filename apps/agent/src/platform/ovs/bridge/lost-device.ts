import type { Netlink } from "@antrea/netlink";
import type { Logger } from "@antrea/runtime";
import type { CarryOutLimits } from "./carried-out.ts";

export interface LostDeviceComponents {
    readonly ports: {
        deletePort(name: string, signal?: AbortSignal): Promise<void>;
        /** Waits until OVS has carried out what the database says. */
        carriedOut(limits?: CarryOutLimits): Promise<void>;
    };
    readonly netlink: Pick<Netlink, "link">;
    readonly logger: Logger;
}

/**
 * Takes an internal port out of the database when somebody has deleted its device, or moved it to another namespace: OVS
 * makes no new device for a port that it has, and of the userspace datapath it tries to read the lost one without a pause,
 * which takes a whole CPU. Resolves when OVS has carried it out, with true: the port is to be made again. False when
 * there is a device.
 */
export async function removeIfDeviceIsLost(
    { ports, netlink, logger }: LostDeviceComponents,
    name: string,
    signal?: AbortSignal,
): Promise<boolean> {
    const isThere = async (): Promise<boolean> => (await netlink.link(name)) !== undefined;
    if (await isThere()) return false;
    // An OVS that has just started makes the device in its own time.
    await ports.carriedOut({ signal });
    if (await isThere()) return false;
    logger.warn("device of an OVS port is missing; recreating the port", { device: name });
    await ports.deletePort(name, signal);
    // OVS makes no new device for a port that it finds again under the same name.
    await ports.carriedOut({ signal });
    return true;
}
