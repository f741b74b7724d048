import type { Clock } from "@antrea/async";
import { noNicConnected, secondaryBridgeCondition } from "@antrea/crd";
import { isAborted, messageOf } from "@antrea/errors";
import type { Netlink } from "@antrea/netlink";
import type { Logger } from "@antrea/runtime";
import type { ConditionText } from "../../platform/node/node-condition.ts";
import type { SwitchBridge } from "../../platform/ovs/bridge/index.ts";
import type { NicSettings } from "./nic-settings.ts";
import type { NicUplinks } from "./nic-uplinks.ts";
import { isUsable, readNics, type Nic, type NicProblem, type NicSurroundings } from "./nics.ts";

/** Dependencies of SecondaryBridge. */
export interface SecondaryBridgeComponents extends Pick<NicSurroundings, "bridgeOf"> {
    readonly bridge: Pick<SwitchBridge, "ensure" | "name" | "nics">;
    readonly netlink: Pick<Netlink, "addresses" | "link" | "routes">;
    readonly settings: Pick<NicSettings, "prepare" | "prepared" | "release">;
    /** The NICs that the Node uses too; the caller has them moved, see `nicsOfNode`. */
    readonly uplinks: NicSurroundings["uplinks"] & Pick<NicUplinks, "attach" | "release">;
    /** The NIC that bridging mode has; undefined without it. */
    readonly bridgedNic: () => string | undefined;
    /** Called at the beginning of each check; rejects if the bridge cannot be made. */
    readonly makeRoom: (signal: AbortSignal) => Promise<void>;
    readonly clock: Pick<Clock, "monotonic">;
    readonly logger: Logger;
}

/** How long a NIC is without addresses before it becomes a port: at boot, and while a lease is renewed, they come later. */
const emptyMs = 5_000;

/**
 * The bridge of networks other than the Pod network, with the NICs of the configuration. A NIC that cannot be connected
 * is reported and left alone; the others are connected.
 */
export class SecondaryBridge {
    readonly #components: SecondaryBridgeComponents;
    readonly #nicNames: readonly string[];
    #nics: readonly Nic[] | undefined;
    /** The ports of NICs that have a bridge of their own, by the names of the NICs. */
    readonly #patchOf = new Map<string, string>();
    /** Why the last check failed. */
    #failure: string | undefined;
    #logged = "";
    /** The NICs that the Node has used since this start. */
    readonly #ofNode = new Set<string>();
    /** When the NICs were first seen without addresses that wait for `emptyMs`; monotonic, ms. */
    readonly #emptySince = new Map<string, number>();
    /** The indexes of the links of NICs, by their names. */
    readonly #indexes = new Map<string, number>();

    constructor(components: SecondaryBridgeComponents, options: { readonly nics: readonly string[] }) {
        this.#components = components;
        this.#nicNames = options.nics;
    }

    /**
     * Makes bridge and NICs as configured, and gives back NICs that are no longer; moves no addresses. Idempotent; without a
     * difference nothing is written. Rejects with OvsBridgeError, OvsdbError or NetlinkError, to be
     * repeated.
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
        const { bridge, bridgeOf, bridgedNic, clock, logger, makeRoom, netlink, settings, uplinks } = this.#components;
        await makeRoom(signal);
        const former = bridge.nics().map(({ name }) => name);
        const taken = bridgedNic();
        // An earlier start was not in bridging mode.
        if (taken !== undefined && this.#nicNames.includes(taken) && uplinks.isMoved(taken))
            await uplinks.release(taken);
        const now = clock.monotonic();
        const prepared = settings.prepared();
        const nics = await readNics(netlink, this.#nicNames, {
            bridgeOf,
            ownBridge: bridge.name,
            uplinks,
            bridgedNic: taken,
            mayTakeOut: this.#nics === undefined,
            whenEmpty: (name) => {
                if (this.#ofNode.has(name)) return "refused";
                // One that was a port before the database was lost has waited.
                const hasWaited = prepared.includes(name) || now - (this.#emptySince.get(name) ?? now) >= emptyMs;
                return hasWaited ? "port" : "waiting";
            },
            noteLink: (name, index) => {
                if (index === undefined) this.#indexes.delete(name);
                else this.#indexes.set(name, index);
            },
        });
        for (const { kind, name } of nics) {
            if (kind === "ofNode") this.#ofNode.add(name);
            if (kind !== "waiting") this.#emptySince.delete(name);
            else if (!this.#emptySince.has(name)) this.#emptySince.set(name, now);
        }
        const links = nics.flatMap(({ kind, name }) => (kind === "port" ? [name] : []));
        // Before it is a port: what it forwards then must not reach the Node.
        for (const name of links) await settings.prepare(name);
        // One whose NIC is missing for a moment stays, for the Node's port.
        const moved = nics.filter(({ kind, name }) => kind === "ofNode" && uplinks.isMoved(name));
        const patches = await Promise.all(moved.map(({ name }) => uplinks.attach(name, signal)));
        const present = [...links, ...patches.map(({ name }) => name)];
        // While they are ports: the next start knows them by that if this one is killed.
        await settings.release(former.filter((name) => !present.includes(name)));
        await bridge.ensure([...links, ...patches], signal);
        this.#patchOf.clear();
        for (const [at, { name }] of moved.entries()) this.#patchOf.set(name, patches[at]?.name ?? name);
        // An agent may be killed before a NIC that is prepared is a port, or the database be lost.
        await settings.release(prepared.filter((name) => !links.includes(name)));
        this.#nics = nics;
        // Waiting is no fault.
        const text = this.#emptySince.size > 0 ? this.#logged : this.#problemText();
        if (text !== "" && text !== this.#logged)
            logger.warn("NICs are not connected to the secondary bridge", { reason: text });
        this.#logged = text;
    }

    /** The NICs that the Node uses too: each needs an uplink, which moves the Node's addresses to a host port. */
    get nicsOfNode(): readonly string[] {
        return (this.#nics ?? []).flatMap(({ kind, name }) => (kind === "ofNode" ? [name] : []));
    }

    /** Whether the NIC is to be checked again soon, as it becomes a port if it stays without addresses. */
    isWaiting(nic: string): boolean {
        return this.#emptySince.has(nic);
    }

    /** Whether a NIC has the link of this index, as far as the checks have found: what becomes of it later is to be checked. */
    hasLink(index: number): boolean {
        return [...this.#indexes.values()].includes(index);
    }

    /** Why no Pod can be connected, as part of a sentence; undefined if Pods can be. */
    get problem(): string | undefined {
        const { bridge } = this.#components;
        if (this.#nics === undefined)
            return `the bridge ${bridge.name} is not made yet${this.#failure === undefined ? "" : `: ${this.#failure}`}`;
        return this.connected > 0 ? undefined : `no NIC of ${bridge.name} is connected: ${this.#problemText()}`;
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
            return this.#notReady("BridgeNotReady", `the bridge cannot be made as configured: ${this.#failure}`);
        }
        if (this.#nics === undefined) return undefined;
        const [first] = this.#problems();
        const { name } = this.#components.bridge;
        if (first === undefined) {
            const message = `the NICs ${this.#nicNames.join(", ")} are ports of ${name}`;
            return { type: secondaryBridgeCondition, status: "True", reason: "BridgeReady", message };
        }
        return this.#notReady(first.reason, this.#problemText());
    }

    /** The message reports whether that keeps Pods from the bridge. */
    #notReady(reason: string, text: string): ConditionText {
        const message = this.connected > 0 ? text : `${text}; ${noNicConnected}`;
        return { type: secondaryBridgeCondition, status: "False", reason, message };
    }

    #problemText(): string {
        return this.#problems()
            .map(({ text }) => text)
            .join("; ");
    }

    #problems(): readonly NicProblem[] {
        const refused = this.#refused();
        return (this.#nics ?? []).flatMap(({ name, problem }): readonly NicProblem[] => {
            if (problem !== undefined) return [problem];
            const error = refused.get(this.#portOf(name));
            if (error === undefined) return [];
            return [
                {
                    reason: "NICNotConnected",
                    text: `OVS cannot open ${name}: ${error}; see the log of ovs-vswitchd`,
                },
            ];
        });
    }

    #portOf(nic: string): string {
        return this.#patchOf.get(nic) ?? nic;
    }

    /** Those that are ports which OVS could open. */
    #connected(): readonly Nic[] {
        const { bridge } = this.#components;
        const opened = new Set(bridge.nics().flatMap(({ name, error }) => (error === undefined ? [name] : [])));
        return (this.#nics ?? []).filter((nic) => isUsable(nic) && opened.has(this.#portOf(nic.name)));
    }

    /** Why OVS could not open a port of a NIC, by its name. */
    #refused(): ReadonlyMap<string, string> {
        const { bridge } = this.#components;
        return new Map(bridge.nics().flatMap(({ name, error }) => (error === undefined ? [] : [[name, error]])));
    }
}
