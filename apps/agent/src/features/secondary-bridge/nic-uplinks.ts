import { isAborted, messageOf } from "@antrea/errors";
import type { Logger } from "@antrea/runtime";
import type { Uplink, UplinkState } from "../../platform/host/uplink/index.ts";
import type { NicBridge, PatchPort } from "../../platform/ovs/bridge/index.ts";

/** The uplink of a NIC, and the bridge that it is a port of. */
export interface NicUplink {
    readonly uplink: Pick<Uplink, "state" | "recover" | "connect" | "check" | "restore">;
    readonly bridge: Pick<NicBridge, "attach" | "delete" | "exists" | "name" | "patch" | "port">;
}

/** Dependencies of NicUplinks. */
export interface NicUplinksComponents {
    /** Builds the uplink of a NIC, by its name; moves nothing. */
    readonly make: (nic: string) => NicUplink;
    /** The NICs that have a journal. */
    readonly movedNics: () => readonly string[];
    /** The NICs whose bridges an agent has made. */
    readonly nicsWithBridges: () => readonly string[];
    readonly logger: Logger;
}

/**
 * The NICs of the secondary bridge that the Node itself uses: each becomes a port of a bridge of its own, with a host port
 * that has its addresses and routes, by the code and with a journal as the uplink of bridging mode. A failure is one of its
 * NIC only. A move that was rolled back is not repeated by this process.
 */
export class NicUplinks {
    readonly #components: NicUplinksComponents;
    readonly #configured: readonly string[];
    readonly #uplinks = new Map<string, NicUplink>();
    readonly #failures = new Map<string, unknown>();
    /** NICs on whose uplink or bridge something is in progress. */
    readonly #busy = new Set<string>();

    /** @param options `nics`: those of the configuration */
    constructor(components: NicUplinksComponents, options: { readonly nics: readonly string[] }) {
        this.#components = components;
        this.#configured = options.nics;
    }

    /** Whether a NIC that appears moved, without a journal, is one of these. */
    isKnown(nic: string): boolean {
        return this.#configured.includes(nic) || this.#components.movedNics().includes(nic);
    }

    /** Whether one of them is a port since an earlier start. */
    get isFound(): boolean {
        return [...this.#uplinks.values()].some(({ uplink }) => uplink.state.kind === "found");
    }

    /** The state of the NIC. */
    state(nic: string): UplinkState {
        return this.#of(nic).uplink.state;
    }

    /** Whether the NIC is a port of its bridge, and the Node's addresses are on the host port. */
    isMoved(nic: string): boolean {
        const { kind } = this.state(nic);
        return kind === "bridged" || kind === "found";
    }

    /** The name of the bridge that the NIC becomes a port of. */
    bridgeName(nic: string): string {
        return this.#of(nic).bridge.name;
    }

    /** The error of the last attempt to connect or restore the NIC; undefined if it succeeded. */
    failure(nic: string): unknown {
        return this.#failures.get(nic);
    }

    /** Why OVS could not open the NIC; undefined if it could, or the NIC is not moved. */
    portError(nic: string): string | undefined {
        const { bridge, uplink } = this.#of(nic);
        return uplink.state.kind === "bridged" ? bridge.port(uplink.state.physicalName)?.error : undefined;
    }

    /**
     * To be called first at startup, before anything that needs the network: keeps complete moves of NICs of the
     * configuration, and gives back all others. Failures are logged; `keep` and `releaseUnused` try again. Rejects only if
     * the signal aborts.
     */
    async recover(signal: AbortSignal): Promise<void> {
        const { logger, movedNics } = this.#components;
        const names = new Set([...this.#configured, ...movedNics()]);
        await Promise.all(
            [...names].map((nic) =>
                this.#attempt(nic, async ({ uplink }) => {
                    await uplink.recover(signal);
                    if (!this.#configured.includes(nic)) await uplink.restore();
                }).catch((error: unknown) => {
                    signal.throwIfAborted();
                    logger.error("NIC cannot be recovered yet", { nic, reason: messageOf(error) });
                }),
            ),
        );
    }

    /**
     * Connects the NIC, or checks it if it is connected; to be called about every second for a NIC that the Node uses.
     * Rejects as Uplink's `connect` and `check`.
     */
    async keep(nic: string, signal: AbortSignal): Promise<void> {
        await this.#attempt(nic, async ({ uplink }) => {
            if (uplink.state.kind === "bridged") await uplink.check(signal);
            else if (uplink.state.kind !== "rolledBack") await uplink.connect(nic, signal);
        });
    }

    /**
     * Connects the bridge of a moved NIC to the bridge of networks: resolves with the port that this one needs. Rejects as
     * NicBridge's `attach`.
     */
    async attach(nic: string, signal: AbortSignal): Promise<PatchPort> {
        const { bridge } = this.#of(nic);
        // A database that was lost has it again when the NIC was checked.
        if (bridge.exists) await bridge.attach(signal);
        return bridge.patch;
    }

    /** Gives a NIC back to the Node. Rejects as Uplink's `restore`. */
    release(nic: string): Promise<void> {
        return this.#attempt(nic, ({ uplink }) => uplink.restore());
    }

    /**
     * Gives back NICs that are no longer configured, as far as `recover` could not, and deletes the bridges of NICs that
     * are not moved. Rejects with the first error, after all were tried.
     */
    async releaseUnused(signal: AbortSignal): Promise<void> {
        const left = [...this.#uplinks.keys()].filter((nic) => !this.#configured.includes(nic));
        const names = new Set([...left, ...this.#components.nicsWithBridges()]);
        const results = await Promise.allSettled(
            [...names].map((nic) =>
                this.#attempt(nic, async ({ bridge, uplink }) => {
                    if (left.includes(nic)) await uplink.restore();
                    if (!this.isMoved(nic) && this.#components.nicsWithBridges().includes(nic))
                        await bridge.delete(signal);
                }),
            ),
        );
        for (const result of results) if (result.status === "rejected") throw result.reason;
    }

    /**
     * Gives all NICs back to the Node, at a graceful end; resolves with the names of those that were moved. Rejects with
     * the first error, after all were tried; may be repeated.
     */
    async restore(): Promise<readonly string[]> {
        const moved = [...this.#uplinks.keys()].filter((nic) => this.isMoved(nic));
        const results = await Promise.allSettled(
            // Each waits for its move in progress.
            [...this.#uplinks.values()].map(({ uplink }) => uplink.restore()),
        );
        for (const result of results) if (result.status === "rejected") throw result.reason;
        return moved;
    }

    /** No effect while something else is in progress for the NIC: the caller comes again. */
    async #attempt(nic: string, work: (one: NicUplink) => Promise<void>): Promise<void> {
        if (this.#busy.has(nic)) return;
        this.#busy.add(nic);
        try {
            await work(this.#of(nic));
            this.#failures.delete(nic);
        } catch (error) {
            if (!isAborted(error)) this.#failures.set(nic, error);
            throw error;
        } finally {
            this.#busy.delete(nic);
        }
    }

    #of(nic: string): NicUplink {
        let one = this.#uplinks.get(nic);
        if (one === undefined) this.#uplinks.set(nic, (one = this.#components.make(nic)));
        return one;
    }
}
