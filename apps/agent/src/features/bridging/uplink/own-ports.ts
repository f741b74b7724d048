import { sleep, withTimeout } from "@antrea/async";
import { messageOf } from "@antrea/errors";
import type { Link, Netlink } from "@antrea/netlink";
import { type Logger } from "@antrea/runtime";
import { removeIfDeviceIsLost, type CarryOutLimits } from "../../../platform/ovs/bridge/index.ts";
import type { JournalEntry } from "./journal-codec.ts";
import { hostDevice } from "./links.ts";
import { switchOffloadsOff } from "./nic-settings.ts";
import type { UplinkOptions, UplinkPorts, UplinkPortSpec } from "./types.ts";

const removalTimeoutMs = 2_000;
const removalPauseMs = 100;
/** The Node is on the network meanwhile. */
const letGoTimeoutMs = 3_000;

export interface OwnPortsComponents {
    readonly netlink: Netlink;
    readonly ports: UplinkPorts;
    readonly logger: Logger;
}

export type OwnPortsOptions = Pick<UplinkOptions, "hostOfPort" | "uplinkOfPort" | "mustComputeChecksums">;

/** The two ports of the uplink in OVS: the NIC, and the host port in the NIC's name. */
export class OwnPorts {
    readonly #parts: OwnPortsComponents;
    readonly #options: OwnPortsOptions;
    readonly #timeoutMs: number;

    /** @param timeoutMs how long OVS may take to make a port */
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
     * Takes the host port out of the database if its device is gone, for OVS makes no new one. The next `makeHost` gives it
     * its number again.
     */
    async removeHostWithoutDevice({ name }: Pick<JournalEntry, "name">, signal: AbortSignal): Promise<void> {
        if (isOurs(this.#parts.ports.port(name))) await removeIfDeviceIsLost(this.#parts, name, signal);
    }

    /** Makes the host port unless it is there; gives its device. */
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

    /** From here on OVS sees what the NIC receives. The Node's stack sees it too, until the switch. */
    async makeUplink(name: string, signal: AbortSignal): Promise<void> {
        const { ports } = this.#parts;
        if (this.#options.mustComputeChecksums) switchOffloadsOff(name);
        const externalIds = { "antrea-type": "uplink" };
        await ports.ensurePort({ name, type: "", ofPortRequest: this.#options.uplinkOfPort, externalIds }, signal);
        await ports.ofPort(name, this.#timeoutMs, signal);
    }

    /**
     * Takes out ports that an earlier boot, or a way back without the database, left there: OVS would take up the new links
     * before their step. Waits until OVS has let go of them: one that is back under its name when OVS next looks is to
     * OVS the port it had, and it makes no device for it.
     */
    async removeLeftovers(names: readonly string[], signal: AbortSignal): Promise<void> {
        const { ports } = this.#parts;
        const left = names.filter((name) => isOurs(ports.port(name)));
        if (left.length === 0) return;
        for (const name of left) await ports.deletePort(name, signal);
        await ports.carriedOut({ timeoutMs: this.#timeoutMs, signal });
    }

    /** Waits until OVS has let go of the devices, if it does. False when the database could not be reached. */
    async remove(names: readonly string[]): Promise<boolean> {
        const isRemoved = await this.#removeRows(names);
        if (isRemoved) await carriedOut((limits) => this.#parts.ports.carriedOut(limits), this.#parts.logger);
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
                // At a start the session with the database may just be under way.
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
 * OVS that lets go of a device sets its flags as it knows them, by its name. The host port is down by then: should the NIC
 * have that name again before, OVS would take the NIC down.
 */
export async function carriedOut(wait: (limits: CarryOutLimits) => Promise<void>, logger: Logger): Promise<void> {
    try {
        await wait({ timeoutMs: letGoTimeoutMs });
    } catch (error) {
        logger.warn("ovs-vswitchd did not release the uplink devices; removing them from the datapath", {
            error: messageOf(error),
        });
    }
}

export function isOurs(port: { readonly externalIds: ReadonlyMap<string, string> } | undefined): boolean {
    const type = port?.externalIds.get("antrea-type");
    return type === "host" || type === "uplink";
}
