import type { Netlink } from "@antrea/netlink";
import type { Logger } from "@antrea/runtime";
import type { SwitchBridge, SwitchBridges } from "../../platform/ovs/bridge/index.ts";
import type { NicSettings } from "./nic-settings.ts";

/** Dependencies of FormerBridges. */
export interface FormerBridgesComponents {
    readonly bridges: Pick<SwitchBridges, "names" | "of">;
    readonly netlink: Pick<Netlink, "link">;
    readonly settings: Pick<NicSettings, "prepared" | "release">;
    readonly logger: Logger;
}

/** The bridges that earlier starts made and that are no longer configured. Methods reject with OvsdbError or NetlinkError. */
export class FormerBridges {
    readonly #components: FormerBridgesComponents;

    constructor(components: FormerBridgesComponents) {
        this.#components = components;
    }

    /**
     * Deletes the bridges in which no Pod has a port any more; ports whose links are gone do not count. NICs of none of them are
     * given back.
     */
    async deleteUnused(signal: AbortSignal): Promise<void> {
        const { netlink, settings } = this.#components;
        const kept: string[] = [];
        for (const [name, bridge] of this.#found()) {
            const ports = bridge.ports();
            const gone: string[] = [];
            for (const port of ports) if ((await netlink.link(port.name)) === undefined) gone.push(port.name);
            await bridge.deletePorts(gone, signal);
            if (gone.length === ports.length) await this.#delete(name, bridge, signal);
            else kept.push(...bridge.nics().map((nic) => nic.name));
        }
        await settings.release(settings.prepared().filter((name) => !kept.includes(name)));
    }

    #found(): readonly (readonly [string, Pick<SwitchBridge, "delete" | "deletePorts" | "nics" | "ports">])[] {
        const { bridges } = this.#components;
        return bridges.names().map((bridge) => [bridge, bridges.of({ bridge, multicastSnooping: false })] as const);
    }

    async #delete(name: string, bridge: Pick<SwitchBridge, "delete" | "nics">, signal: AbortSignal): Promise<void> {
        const { logger, settings } = this.#components;
        const nics = bridge.nics().map((nic) => nic.name);
        // While they are ports: the next start knows them by that if this one is killed.
        await settings.release(nics);
        await bridge.delete(signal);
        logger.info("bridge that is no longer configured deleted", { bridge: name, nics });
    }
}
