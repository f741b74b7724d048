import { sleep, withTimeout } from "@antrea/async";
import { messageOf } from "@antrea/errors";
import type { Link, Netlink } from "@antrea/netlink";
import { type Logger } from "@antrea/runtime";
import { removeIfDeviceIsLost, type VswitchdAckLimits } from "../../ovs/bridge/index.ts";
import type { JournalEntry } from "./journal-codec.ts";
import { hostDevice } from "./links.ts";
import { switchOffloadsOff } from "./nic-settings.ts";
import type { UplinkOptions, UplinkPorts, UplinkPortSpec } from "./types.ts";

const removalTimeoutMs = 2_000;
const removalPauseMs = 100;
/** The Node is on the network during this wait. */
const releaseTimeoutMs = 3_000;

/** Dependencies of OwnPorts. */
export interface OwnPortsComponents {
    readonly netlink: Netlink;
    readonly ports: UplinkPorts;
    readonly logger: Logger;
}

/** Settings of OwnPorts. */
export type OwnPortsOptions = Pick<UplinkOptions, "hostOfPort" | "uplinkOfPort" | "mustComputeChecksums">;

/**
 * The two ports of the uplink in OVS: the NIC, and the host port with the NIC's name. Methods that take a signal are
 * idempotent; they reject as those of UplinkPorts, also if OVS does not do it within `timeoutMs` or the signal aborts.
 */
export class OwnPorts {
    readonly #parts: OwnPortsComponents;
    readonly #options: OwnPortsOptions;
    readonly #timeoutMs: number;

    /**
     * @param timeoutMs how long OVS may take to create a port, in milliseconds
     */
    constructor(components: OwnPortsComponents, options: OwnPortsOptions, timeoutMs: number) {
        this.#parts = components;
        this.#options = options;
        this.#timeoutMs = timeoutMs;
    }

    /** Whether the database has both. */
    areThere({ name, physicalName }: Pick<JournalEntry, "name" | "physicalName">): boolean {
        return [name, physicalName].every((one) => isOurs(this.#parts.ports.port(one)));
    }

    /**
     * Removes the host port from the database if its device is gone, since OVS does not recreate the device. The next
     * `makeHost` gives it the same port number again.
     */
    async removeHostWithoutDevice({ name }: Pick<JournalEntry, "name">, signal: AbortSignal): Promise<void> {
        if (isOurs(this.#parts.ports.port(name))) await removeIfDeviceIsLost(this.#parts, name, signal);
    }

    /**
     * Creates the host port with MAC address and MTU of the NIC if it does not exist; returns its device once OVS has
     * created it. Rejects with UplinkError `NO_DEVICE` if it does not.
     */
    async makeHost({ name, nic }: Pick<JournalEntry, "name" | "nic">, signal: AbortSignal): Promise<Link> {
        const { ports, netlink } = this.#parts;
        const spec: UplinkPortSpec = {
            name,
            type: "internal",
            ofPortRequest: this.#options.hostOfPort,
            externalIds: { "antrea-type": "host" },
            mac: nic.mac,
            mtuRequest: nic.mtu,
        };
        await ports.ensurePort(spec, signal);
        await ports.ofPort(name, this.#timeoutMs, signal);
        return hostDevice(netlink, { name, ...nic }, this.#timeoutMs, signal);
    }

    /**
     * Creates the port of the NIC, which has this name now, and disables its offloads (which may throw NetlinkError) if
     * the datapath requires that. From here on OVS receives the NIC's frames. The Node's network stack receives them
     * too, until the switch.
     */
    async makeUplink(name: string, signal: AbortSignal): Promise<void> {
        const { ports } = this.#parts;
        if (this.#options.mustComputeChecksums) switchOffloadsOff(name);
        const externalIds = { "antrea-type": "uplink" };
        await ports.ensurePort({ name, type: "", ofPortRequest: this.#options.uplinkOfPort, externalIds }, signal);
        await ports.ofPort(name, this.#timeoutMs, signal);
    }

    /**
     * Removes ports that an earlier boot, or a rollback without the database, left there: OVS would adopt the new links
     * before their step. Waits until OVS has released them: OVS treats a port that is recreated under its name before
     * the next iteration as unchanged, and creates no device for it.
     */
    async removeLeftovers(names: readonly string[], signal: AbortSignal): Promise<void> {
        const { ports } = this.#parts;
        const left = names.filter((name) => isOurs(ports.port(name)));
        if (left.length === 0) return;
        for (const name of left) await ports.deletePort(name, signal);
        await ports.acknowledged({ timeoutMs: this.#timeoutMs, signal });
    }

    /**
     * Removes the ports and waits up to 3 s for OVS to release the devices; that it does not is only logged. False,
     * also logged, if the database was not reachable for some seconds. Never rejects.
     */
    async remove(names: readonly string[]): Promise<boolean> {
        const isRemoved = await this.#removeRows(names);
        if (isRemoved) await awaitAck((limits) => this.#parts.ports.acknowledged(limits), this.#parts.logger);
        return isRemoved;
    }

    async #removeRows(names: readonly string[]): Promise<boolean> {
        const { ports, logger } = this.#parts;
        const deadline = performance.now() + removalTimeoutMs;
        const remove = (): Promise<unknown> =>
            withTimeout((signal) => Promise.all(names.map((name) => ports.deletePort(name, signal))), removalTimeoutMs);
        for (;;) {
            try {
                await remove();
                return true;
            } catch (error) {
                // At startup the session with the database may still be connecting.
                if (performance.now() < deadline) {
                    await sleep(removalPauseMs);
                    continue;
                }
                logger.warn("cannot remove the ports from the OVS database", { names, error: messageOf(error) });
                return false;
            }
        }
    }
}

/**
 * Waits up to 3 s until OVS has applied the removal; a failure is only logged. When OVS releases a device, it restores
 * the cached flags by device name. The host port is down by then: if the NIC got that name back before, OVS would set
 * the NIC down.
 */
export async function awaitAck(wait: (limits: VswitchdAckLimits) => Promise<void>, logger: Logger): Promise<void> {
    try {
        await wait({ timeoutMs: releaseTimeoutMs });
    } catch (error) {
        logger.warn("ovs-vswitchd did not release the uplink devices; removing them from the datapath", {
            error: messageOf(error),
        });
    }
}

/** Whether the port was created for the uplink: its `antrea-type` is host or uplink. False without a port. */
export function isOurs(port: { readonly externalIds: ReadonlyMap<string, string> } | undefined): boolean {
    const type = port?.externalIds.get("antrea-type");
    return type === "host" || type === "uplink";
}
