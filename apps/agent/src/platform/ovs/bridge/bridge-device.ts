import { isAborted, messageOf } from "@antrea/errors";
import { OvsBridgeError } from "./bridge-error.ts";
import { removeIfDeviceIsLost, type LostDeviceComponents } from "./lost-device.ts";
import type { OvsBridge, OvsBridgeOptions } from "./ovs-bridge.ts";

/** The device that ovs-vswitchd creates for the userspace datapath besides its bridges. */
const userspaceDevice = "ovs-netdev";

/** Dependencies of BridgeDevice, all of them the caller's. */
export interface BridgeDeviceComponents extends Omit<LostDeviceComponents, "ports"> {
    readonly bridge: Pick<OvsBridge, "ensure" | "deletePort" | "acknowledged">;
}

/**
 * Repairs the device that OVS creates with the bridge's name, and watches that of the userspace datapath (ovs-netdev).
 * Pod traffic uses neither, but ovs-vswitchd consumes a whole CPU while it tries to read a lost one. Holds no timer:
 * the caller repeats `ensure`.
 */
export class BridgeDevice {
    readonly #bridge: BridgeDeviceComponents["bridge"];
    readonly #parts: LostDeviceComponents;
    readonly #options: OvsBridgeOptions;
    #problem: string | undefined;

    constructor(components: BridgeDeviceComponents, options: OvsBridgeOptions) {
        this.#bridge = components.bridge;
        this.#parts = { ...components, ports: components.bridge };
        this.#options = options;
    }

    /**
     * What the last `ensure` could not repair, as text for users; undefined if it succeeded. An aborted one does not
     * change it.
     */
    get problem(): string | undefined {
        return this.#problem;
    }

    /**
     * Makes OVS recreate the device if it was deleted or moved; flows and other ports are kept. Idempotent. Rejects
     * with OvsBridgeError `NO_DEVICE` if OVS does not, or if the device of the datapath is gone, which only a restart
     * of OVS restores; also with OvsdbError or NetlinkError.
     */
    async ensure(signal?: AbortSignal): Promise<void> {
        try {
            await this.#ensureLocalPort(signal);
            await this.#checkDatapath(signal);
            this.#problem = undefined;
        } catch (error) {
            if (!isAborted(error)) this.#problem = messageOf(error);
            throw error;
        }
    }

    async #ensureLocalPort(signal: AbortSignal | undefined): Promise<void> {
        const { bridge } = this.#options;
        if (!(await removeIfDeviceIsLost(this.#parts, bridge, signal))) return;
        await this.#bridge.ensure(signal);
        await this.#bridge.acknowledged({ signal });
        if (!(await this.#isThere(bridge)))
            throw this.#lost(`OVS did not make the device ${bridge} of its bridge again`);
    }

    async #checkDatapath(signal: AbortSignal | undefined): Promise<void> {
        if (this.#options.datapathType !== "netdev" || (await this.#isThere(userspaceDevice))) return;
        // An OVS that has just started may not have created the device yet.
        await this.#bridge.acknowledged({ signal });
        if (await this.#isThere(userspaceDevice)) return;
        throw this.#lost(`somebody has deleted or moved the device ${userspaceDevice} of OVS`);
    }

    async #isThere(name: string): Promise<boolean> {
        return (await this.#parts.netlink.link(name)) !== undefined;
    }

    #lost(what: string): OvsBridgeError {
        return new OvsBridgeError(
            "NO_DEVICE",
            "environment",
            `${what}: Pods have their traffic, but ovs-vswitchd may take a whole CPU; next: see its log, and restart OVS on this Node`,
        );
    }
}
