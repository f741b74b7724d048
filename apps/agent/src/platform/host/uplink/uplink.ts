import { uptime } from "node:os";
import { KeyedLock } from "@antrea/async";
import { isAborted, messageOf } from "@antrea/errors";
import { formatIp } from "@antrea/ip";
import type { Link, Netlink } from "@antrea/netlink";
import { type Logger } from "@antrea/runtime";
import { bringBackByLinks } from "./adopt.ts";
import { bootContextOf, type BootContext } from "./boot-context.ts";
import { ConnectivityProbes } from "./connectivity-probes.ts";
import { HostPort } from "./host-port.ts";
import type { JournalEntry } from "./journal-codec.ts";
import { Journal } from "./journal.ts";
import { comesTrue, findPlaces, isMadeByOvs, linkNamed } from "./links.ts";
import { freePhysicalName, NicMove } from "./nic-move.ts";
import { OwnPorts } from "./own-ports.ts";
import { freeFromDatapath, Rollback } from "./rollback.ts";
import { hasGlobalAddress } from "./snapshot.ts";
import { suitableNic } from "./suitable.ts";
import { SwitchOver } from "./switch-over.ts";
import {
    defaultUplinkTiming,
    steps,
    type UplinkBridged,
    type UplinkComponents,
    type UplinkFound,
    type UplinkOptions,
    type UplinkRolledBack,
    type UplinkState,
    type UplinkTiming,
} from "./types.ts";

/**
 * The uplink of bridging mode: the NIC becomes a port of the bridge, and an internal port takes over its name, MAC
 * address, MTU, addresses, routes and neighbours. Each step is written to the journal before it is made, so that after
 * any crash the next agent determines what was done and restores the Node's connectivity.
 *
 * The order keeps the interruption short: both ports exist, the internal one without addresses, before a few netlink
 * messages move everything at once. Calls are serialized in their order: `recover`, then `connect` until it succeeds,
 * then `check`, at the end `restore`.
 */
export class Uplink {
    readonly #parts: UplinkComponents;
    readonly #options: UplinkOptions;
    readonly #timing: UplinkTiming;
    readonly #netlink: Netlink;
    readonly #logger: Logger;
    readonly #journal: Journal;
    readonly #connectivityProbes: ConnectivityProbes;
    readonly #ownPorts: OwnPorts;
    readonly #hostPort: HostPort;
    readonly #nicMove: NicMove;
    readonly #rollback: Rollback;
    readonly #lock = new KeyedLock<"uplink">();
    #here: BootContext | undefined;
    #state: UplinkState = { kind: "idle" };
    #missingSince: number | undefined;

    constructor(components: UplinkComponents, options: UplinkOptions) {
        this.#parts = components;
        this.#options = options;
        this.#timing = { ...defaultUplinkTiming, ...options.timing };
        this.#netlink = components.netlink;
        this.#logger = components.logger;
        this.#journal = new Journal(components, options);
        this.#connectivityProbes = new ConnectivityProbes(components);
        this.#ownPorts = new OwnPorts(components, options, this.#timing.ovsMs);
        const switchOver = new SwitchOver(components, options);
        const netlink = this.#netlink;
        this.#hostPort = new HostPort({ netlink, journal: this.#journal, switchOver }, this.#timing);
        this.#nicMove = new NicMove(
            {
                netlink,
                switchOver,
                journal: this.#journal,
                connectivityProbes: this.#connectivityProbes,
                ownPorts: this.#ownPorts,
                hostPort: this.#hostPort,
                apiIsLocal: components.apiIsLocal,
            },
            options,
        );
        this.#rollback = new Rollback({
            netlink: this.#netlink,
            logger: this.#logger,
            journal: this.#journal,
            removePorts: (names) => this.#ownPorts.remove(names),
            freeFromDatapath,
            uptimeSeconds: uptime,
        });
    }

    /** The current state. */
    get state(): UplinkState {
        return this.#state;
    }

    /**
     * To be called first at startup, before anything that needs the network: keeps a complete move (state `found`),
     * rolls back any other state (`idle`). Needs no OVS, but gives it some seconds to adopt a complete move. Rejects if
     * links cannot be read or the rollback fails, as Rollback's `run`, or if the signal aborts before the rollback.
     */
    recover(signal?: AbortSignal): Promise<UplinkState> {
        return this.#inTurn(() => this.#recover(signal), signal);
    }

    /**
     * Makes the move, or adopts a complete one; to be repeated until the state is `bridged`. Does not start while OVS
     * or the API server is unavailable (`waiting`), since connectivity could not be verified afterwards. A move that
     * fails once addresses are moved, or after which neither gateway nor API server answers, is rolled back
     * (`rolledBack`).
     *
     * @throws UplinkError if the NIC cannot become the uplink; nothing was changed then. Failures before the addresses
     * are moved, e.g. if OVS creates no ports, and an abort are thrown too, after a rollback, and may be retried
     */
    connect(nicName: string, signal: AbortSignal): Promise<UplinkState> {
        return this.#inTurn(() => this.#connect(nicName, signal), signal);
    }

    /**
     * Restores the Node's NIC, at a graceful shutdown; the state is `idle` then. No effect if the NIC was not moved.
     * Rejects if the rollback fails, see UplinkError; may be repeated.
     */
    restore(): Promise<void> {
        return this.#inTurn(async () => {
            const entry = this.#journal.entry ?? (await this.#journal.read());
            if (entry !== undefined) await this.#rollback.run(this.#hostPort.current(entry), await this.#bootContext());
            this.#state = { kind: "idle" };
        });
    }

    /**
     * To be called about every second, and after OVS reconnected; no effect unless the state is `bridged` or `found`.
     * Restores the configuration of a host port that OVS recreated, and recreates ports that were removed from the
     * database and a host port whose device was deleted. Records changes on the host port in the journal, and restores
     * the NIC (state `lost`) if OVS is unavailable, or creates no device, for some seconds. Rejects on abort, if a part
     * cannot be restored although the host port works, and if the rollback fails; the next call tries again.
     */
    check(signal: AbortSignal): Promise<UplinkState> {
        return this.#inTurn(() => this.#check(signal), signal);
    }

    #inTurn<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
        return this.#lock.run("uplink", work, signal);
    }

    async #recover(signal: AbortSignal | undefined): Promise<UplinkState> {
        const here = await this.#bootContext();
        const entry = await this.#journal.read();
        if (entry?.step === "bridged" && (await this.#stands(entry, signal))) return (this.#state = found(entry));
        if (entry !== undefined) {
            this.#logger.info("undoing an unfinished move of the uplink", { nic: entry.name, step: entry.step });
            await this.#rollback.run(entry, here);
        }
        // The journal may be lost, or refer to links that no longer exist.
        await bringBackByLinks(
            { netlink: this.#netlink, rollback: this.#rollback, uptimeSeconds: uptime },
            here,
            (one) => this.#logger.warn("uplink journal is lost; recovering from link state", { nic: one.name }),
            this.#options.isOwn,
        );
        return (this.#state = { kind: "idle" });
    }

    async #connect(name: string, signal: AbortSignal): Promise<UplinkState> {
        const entry = this.#journal.entry ?? (await this.#journal.read());
        if (entry?.step === "bridged" && entry.name === name) {
            if (this.#state.kind !== "bridged") this.#state = found(entry);
            return this.#check(signal);
        }
        if (entry !== undefined) await this.#rollback.run(entry, await this.#bootContext());
        await suitableNic(this.#netlink, this.#parts.ports, name);
        if (!(await this.#mayBegin(name, signal))) return this.#state;
        await this.#ownPorts.removeLeftovers([name, await freePhysicalName(this.#netlink, name)], signal);
        // Read again: the API server may have taken time, and OVS sets flags by name when it releases a device.
        const link = await suitableNic(this.#netlink, this.#parts.ports, name);
        this.#state = { kind: "moving", name };
        try {
            return await this.#move(link, signal);
        } catch (error) {
            const begun = this.#journal.entry;
            const wasCut = begun !== undefined && steps.indexOf(begun.step) >= steps.indexOf("switch");
            if (begun !== undefined) await this.#rollback.run(begun, await this.#bootContext());
            this.#state = { kind: "idle" };
            if (!wasCut || isAborted(error)) throw error;
            return this.#rolledBack(name, messageOf(error));
        }
    }

    async #check(signal: AbortSignal): Promise<UplinkState> {
        const entry = this.#journal.entry;
        const { kind } = this.#state;
        if (entry === undefined || (kind !== "bridged" && kind !== "found")) return this.#state;
        const link = await linkNamed(this.#netlink, entry.name);
        const host = link !== undefined && isMadeByOvs(link) ? link : undefined;
        // The kernel datapath continues without its daemon, so there the link state counts.
        const works = host !== undefined && (host.running || !this.#options.copiesFrames);
        const isConnected = this.#parts.ovsProblem?.() === undefined;
        if (works) this.#missingSince = undefined;
        else if (link === undefined) this.#missingSince ??= performance.now();
        if (isConnected && (kind === "found" || link === undefined || !this.#ownPorts.areThere(entry))) {
            this.#state = found(entry);
            try {
                const limit = AbortSignal.any([signal, AbortSignal.timeout(this.#timing.lossMs)]);
                if (link === undefined) await this.#ownPorts.removeHostWithoutDevice(entry, limit);
                return await this.#takeUp(entry, limit);
            } catch (error) {
                signal.throwIfAborted();
                if (works) throw error;
                this.#logger.warn("OVS does not take up the uplink", { nic: entry.name, error: messageOf(error) });
            }
        } else if (host !== undefined && this.#hostPort.isRecreated(entry, host)) {
            this.#missingSince = undefined;
            this.#logger.info("host port recreated by OVS; restoring its configuration", { device: entry.name });
            await this.#unlessGone(host, () => this.#hostPort.furnish(entry, host));
            return this.#state;
        } else if (works) {
            await this.#unlessGone(host, () => this.#hostPort.follow(entry, host));
            return this.#state;
        }
        let problem = "OVS has been away";
        if (isConnected)
            problem = `the host port ${entry.name} has ${host === undefined ? "had no device" : "been down"}`;
        return this.#giveBackWhenLost(entry, problem, signal);
    }

    /** A device that disappears during the work is not a failure: the next check handles that. */
    async #unlessGone(host: Link, work: () => Promise<void>): Promise<void> {
        try {
            await work();
        } catch (error) {
            if ((await this.#netlink.link(host.index)) !== undefined) throw error;
            this.#missingSince ??= performance.now();
        }
    }

    async #giveBackWhenLost(entry: JournalEntry, problem: string, signal: AbortSignal): Promise<UplinkState> {
        const now = performance.now();
        this.#missingSince ??= now;
        if (now - this.#missingSince < this.#timing.lossMs) return this.#state;
        this.#missingSince = undefined;
        const reason = `${problem} for ${this.#timing.lossMs / 1000} s`;
        this.#logger.warn("restoring the uplink", { nic: entry.name, reason });
        signal.throwIfAborted();
        await this.#rollback.run(this.#hostPort.current(entry), await this.#bootContext());
        return (this.#state = { kind: "lost", name: entry.name, reason });
    }

    async #move(link: Link, signal: AbortSignal): Promise<UplinkBridged | UplinkRolledBack> {
        const here = await this.#bootContext();
        const { entry, problem } = await this.#nicMove.run(link, here, signal);
        if (problem !== undefined) {
            await this.#rollback.run(entry, here);
            return this.#rolledBack(entry.name, problem);
        }
        await this.#journal.make("bridged", entry, () => Promise.resolve());
        const addresses = entry.saved.addresses.map(({ ip }) => formatIp(ip));
        const { name, physicalName } = entry;
        this.#logger.info("NIC connected as uplink of the bridge", { nic: name, renamedTo: physicalName, addresses });
        return (this.#state = bridged(entry));
    }

    /** A complete move after a restart: gateway and API server are not probed, only missing parts are restored. */
    async #takeUp(entry: JournalEntry, signal: AbortSignal): Promise<UplinkBridged> {
        const { name, physicalName } = entry;
        const host = await this.#ownPorts.makeHost(entry, signal);
        await this.#ownPorts.makeUplink(physicalName, signal);
        if (this.#hostPort.isRecreated(entry, host)) await this.#hostPort.furnish(entry, host);
        else await this.#hostPort.follow(entry, host);
        this.#logger.info("NIC is already the uplink of the bridge", { nic: name, renamedTo: physicalName });
        return (this.#state = bridged(entry));
    }

    /** Whether the links are as a complete move left them, with a datapath that forwards between them. */
    async #stands(entry: JournalEntry, signal: AbortSignal | undefined): Promise<boolean> {
        const { nic, host } = await findPlaces(this.#netlink, entry);
        if (nic?.name !== entry.physicalName || host === undefined || host.index !== entry.hostIndex) return false;
        const addresses = await this.#netlink.addresses(host.index);
        if (!hasGlobalAddress(addresses)) return false;
        if (!this.#options.copiesFrames) return true;
        const running = async (): Promise<boolean> => (await this.#netlink.link(host.index))?.running === true;
        return comesTrue(running, this.#timing.carrierMs, signal);
    }

    /** Whether OVS can create the ports, and the Node's connectivity can be verified afterwards. */
    async #mayBegin(name: string, signal: AbortSignal): Promise<boolean> {
        const problem = this.#parts.ovsProblem?.();
        if (problem !== undefined) return this.#wait(name, problem);
        if (!(await this.#connectivityProbes.apiAnswers(signal))) {
            signal.throwIfAborted();
            return this.#wait(name, "the API server does not answer");
        }
        signal.throwIfAborted();
        return true;
    }

    #wait(name: string, reason: string): false {
        const { kind } = this.#state;
        if (kind === "lost") return false;
        if (kind !== "waiting") this.#logger.warn("the uplink stays as it is", { nic: name, reason });
        this.#state = { kind: "waiting", name, reason };
        return false;
    }

    #rolledBack(name: string, reason: string): UplinkRolledBack {
        this.#logger.error("move of the uplink rolled back", { nic: name, reason });
        return (this.#state = { kind: "rolledBack", name, reason });
    }

    async #bootContext(): Promise<BootContext> {
        return (this.#here ??= await bootContextOf(this.#options.bootId));
    }
}

function bridged({ name, physicalName, nic }: JournalEntry): UplinkBridged {
    return { kind: "bridged", name, physicalName, mac: nic.mac };
}

function found({ name }: JournalEntry): UplinkFound {
    return { kind: "found", name };
}
