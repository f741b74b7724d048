import type { Netlink } from "@antrea/netlink";
import type { Logger } from "@antrea/runtime";
import type { VswitchdAckLimits } from "./vswitchd-ack.ts";

/** Dependencies of removeIfDeviceIsLost; `ports` is the part of OvsBridge that it uses. */
export interface LostDeviceComponents {
    readonly ports: {
        deletePort(name: string, signal?: AbortSignal): Promise<void>;
        /** Waits until ovs-vswitchd has applied the database contents. */
        acknowledged(limits?: VswitchdAckLimits): Promise<void>;
    };
    readonly netlink: Pick<Netlink, "link">;
    readonly logger: Logger;
}

/**
 * Removes an internal port from the database if its device was deleted or moved to another namespace (logged): OVS
 * creates no new device for an existing port, and on the userspace datapath it tries to read the lost one continuously,
 * which consumes a whole CPU. Resolves with true once OVS has applied it: the port is to be created again. False if the
 * device exists. Rejects with OvsdbError or NetlinkError; the port may be removed then.
 */
export async function removeIfDeviceIsLost(
    { ports, netlink, logger }: LostDeviceComponents,
    name: string,
    signal?: AbortSignal,
): Promise<boolean> {
    const isThere = async (): Promise<boolean> => (await netlink.link(name)) !== undefined;
    if (await isThere()) return false;
    // An OVS that has just started may not have created the device yet.
    await ports.acknowledged({ signal });
    if (await isThere()) return false;
    logger.warn("device of an OVS port is missing; recreating the port", { device: name });
    await ports.deletePort(name, signal);
    // OVS creates no new device for a port that reappears under the same name before it has processed the removal.
    await ports.acknowledged({ signal });
    return true;
}
