import { secondaryBridgeCondition } from "@antrea/crd";
import { isAborted, messageOf } from "@antrea/errors";
import type { Netlink } from "@antrea/netlink";
import type { Logger } from "@antrea/runtime";
import type { ConditionText } from "../../platform/node/node-condition.ts";
import type { SwitchBridge } from "../../platform/ovs/bridge/index.ts";
import type { NicSettings } from "./nic-settings.ts";
import { readNics, type Nic } from "./nics.ts";

/** Dependencies of SecondaryBridge. */
export interface SecondaryBridgeComponents {
    readonly bridge: Pick<SwitchBridge, "ensure" | "name" | "nics">;
    readonly netlink: Pick<Netlink, "addresses" | "link">;
    readonly settings: Pick<NicSettings, "prepare" | "release">;
    /** The OVS bridge that has a port of this name; undefined if none has. */
    readonly bridgeOf: (name: string) => string | undefined;
    readonly logger: Logger;
}

/**
 * The bridge of networks other than the Pod network, with the NICs of the configuration. A NIC that cannot be connected
 * is reported and left alone; the others are connected.
 */
export class SecondaryBridge {
    readonly #components: SecondaryBridgeComponents;
    readonly #nicNames: readonly string[];
    #nics: readonly Nic[] | undefined;
    /** Why the last check failed. */
    #failure: string | undefined;
    #logged = "";

    constructor(components: SecondaryBridgeComponents, options: { readonly nics: readonly string[] }) {
        this.#components = components;
        this.#nicNames = options.nics;
    }

    /**
     * Makes bridge and NICs as configured, and gives back NICs that are no longer. Idempotent; without a difference nothing is
     * written. Rejects with OvsdbError or NetlinkError, to be repeated.
     */
    async check(signal: AbortSignal): Promise<void> {
        try {
            await this.#check(signal);
            this.#failure = undefined;
        } catch (error) {
            if (!isAborted(error)) this.#failure = messageOf(error);
            throw error;
        }
    }

    async #check(signal: AbortSignal): Promise<void> {
        const { bridge, bridgeOf, logger, netlink, settings } = this.#components;
        const former = bridge.nics().map(({ name }) => name);
        const nics = await readNics(netlink, this.#nicNames, { bridgeOf, ownBridge: bridge.name });
        const usable = nics.filter(({ isUsable }) => isUsable).map(({ name }) => name);
        // Before it is a port: what it forwards then must not reach the Node.
        for (const name of usable) await settings.prepare(name);
        await bridge.ensure(usable, signal);
        for (const name of former) if (!usable.includes(name)) await settings.release(name);
        this.#nics = nics;
        const text = this.#problems().join("; ");
        if (text !== "" && text !== this.#logged)
            logger.warn("NICs are not connected to the secondary bridge", { reason: text });
        this.#logged = text;
    }

    /** Why no Pod can be connected, as part of a sentence; undefined if Pods can be. */
    get problem(): string | undefined {
        const { bridge } = this.#components;
        if (this.#nics === undefined)
            return `the bridge ${bridge.name} is not made yet${this.#failure === undefined ? "" : `: ${this.#failure}`}`;
        return this.connected > 0 ? undefined : `no NIC of ${bridge.name} is connected: ${this.#problems().join("; ")}`;
    }

    /** The largest MTU that all connected NICs have, in bytes; 0 while there are none. */
    get mtu(): number {
        const mtus = this.#connected().map(({ mtu }) => mtu);
        return mtus.length === 0 ? 0 : Math.min(...mtus);
    }

    /** The number of NICs that are connected. */
    get connected(): number {
        return this.#connected().length;
    }

    /** The condition of the Node; undefined before the first check. */
    get condition(): ConditionText | undefined {
        if (this.#failure !== undefined) {
            const message = `the bridge cannot be made as configured: ${this.#failure}`;
            return { type: secondaryBridgeCondition, status: "False", reason: "BridgeNotReady", message };
        }
        if (this.#nics === undefined) return undefined;
        const problems = this.#problems();
        const { name } = this.#components.bridge;
        if (problems.length === 0) {
            const message = `the NICs ${this.#nicNames.join(", ")} are ports of ${name}`;
            return { type: secondaryBridgeCondition, status: "True", reason: "BridgeReady", message };
        }
        return {
            type: secondaryBridgeCondition,
            status: "False",
            reason: "NICNotConnected",
            message: problems.join("; "),
        };
    }

    #problems(): readonly string[] {
        const refused = this.#refused();
        return (this.#nics ?? []).flatMap(({ name, problem }) => {
            if (problem !== undefined) return [problem];
            const error = refused.get(name);
            return error === undefined ? [] : [`OVS cannot open ${name}: ${error}; see the log of ovs-vswitchd`];
        });
    }

    /** Those that are ports which OVS could open. */
    #connected(): readonly Nic[] {
        const { bridge } = this.#components;
        const opened = new Set(bridge.nics().flatMap(({ name, error }) => (error === undefined ? [name] : [])));
        return (this.#nics ?? []).filter(({ name, isUsable }) => isUsable && opened.has(name));
    }

    /** Why OVS could not open a NIC, by its name. */
    #refused(): ReadonlyMap<string, string> {
        const { bridge } = this.#components;
        return new Map(bridge.nics().flatMap(({ name, error }) => (error === undefined ? [] : [[name, error]])));
    }
}
