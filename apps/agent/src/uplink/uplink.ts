import { uptime } from "node:os";
import { isAborted, messageOf } from "@antrea/errors";
import { formatIp } from "@antrea/ip";
import { setTxChecksumOffload, type Link, type Netlink } from "@antrea/netlink";
import { sleep, withTimeout, type Logger } from "@antrea/runtime";
import { entryOfLinks } from "./adopt.ts";
import { UplinkError } from "./errors.ts";
import type { JournalEntry } from "./journal-codec.ts";
import { Journal } from "./journal.ts";
import {
    beginIpv6,
    comesTrue,
    endIpv6,
    findPlaces,
    hostDevice,
    isMadeByOvs,
    linkNamed,
    placeAltNames,
    renameLink,
} from "./links.ts";
import { physicalNameOf } from "./names.ts";
import { readNicSettings, switchOffloadsOff } from "./nic-settings.ts";
import { placeAddresses, placeNeighbours, placeRoutes, removeAddresses4, removeRoutes, routesOf } from "./place.ts";
import { gatewaysOf, hasGlobalAddress, refuseRoutes, takeSnapshot, type Snapshot } from "./snapshot.ts";
import { copySysctls, writeSysctl } from "./sysctls.ts";
import {
    defaultUplinkTiming,
    steps,
    type UplinkBridged,
    type UplinkComponents,
    type UplinkOptions,
    type UplinkPortSpec,
    type UplinkRolledBack,
    type UplinkState,
    type UplinkTiming,
} from "./types.ts";
import { freeFromDatapath, WayBack } from "./way-back.ts";
import { whereaboutsOf, type Whereabouts } from "./whereabouts.ts";
import { Witnesses, witnessText } from "./witnesses.ts";

const removalTimeoutMs = 2_000;
const removalPauseMs = 100;
const apiPauseMs = 1_000;

/**
 * The uplink of bridging mode: the NIC becomes a port of the bridge, and an internal port takes its name, MAC, MTU,
 * addresses, routes and neighbours. Each step is in the journal before it is made, so that whatever ends the agent, the
 * next one finds out what was done and the Node is on the network again.
 *
 * The order keeps the cut short: both ports are in place, the internal one without addresses, before a few netlink
 * messages move everything at once. One call at a time: the caller sees to that.
 */
export class Uplink {
    readonly #parts: UplinkComponents;
    readonly #options: UplinkOptions;
    readonly #timing: UplinkTiming;
    readonly #netlink: Netlink;
    readonly #logger: Logger;
    readonly #journal: Journal;
    readonly #witnesses: Witnesses;
    readonly #wayBack: WayBack;
    #here: Whereabouts | undefined;
    #state: UplinkState = { kind: "idle" };
    /** What the host port had when it was last seen well. */
    #seen: { readonly snapshot: Snapshot; readonly index: number } | undefined;
    #missingSince: number | undefined;

    constructor(components: UplinkComponents, options: UplinkOptions) {
        this.#parts = components;
        this.#options = options;
        this.#timing = { ...defaultUplinkTiming, ...options.timing };
        this.#netlink = components.netlink;
        this.#logger = components.logger;
        this.#journal = new Journal(components, options);
        this.#witnesses = new Witnesses(components);
        this.#wayBack = new WayBack({
            ...{ netlink: this.#netlink, logger: this.#logger, journal: this.#journal },
            removePorts: (names) => this.#removePorts(names),
            freeFromDatapath,
            uptimeSeconds: uptime,
        });
    }

    get state(): UplinkState {
        return this.#state;
    }

    /**
     * The first thing at a start, before anything that needs the network: a complete move stands, any other state is
     * undone. Needs no OVS; gives it some seconds to take up a complete move again.
     */
    async recover(signal?: AbortSignal): Promise<UplinkState> {
        const here = await this.#whereabouts();
        const entry = await this.#journal.read();
        if (entry === undefined) return (this.#state = { kind: "idle" });
        if (entry.step === "bridged" && (await this.#stands(entry, signal))) {
            return (this.#state = bridged(entry));
        }
        this.#logger.info("undoing an unfinished move of the uplink", { nic: entry.name, step: entry.step });
        await this.#wayBack.run(entry, here);
        return (this.#state = { kind: "idle" });
    }

    /**
     * Makes the move unless it stands. Waits while the API server is away, since then nobody could tell afterwards
     * whether the move cut the Node off. A move that fails, or after which neither gateway nor API server answers, is
     * undone.
     *
     * @throws UplinkError when the NIC cannot become the uplink; then nothing was changed. What failed before the Node's
     *   addresses were touched, as an OVS that makes no ports, is thrown too: it may be tried again
     */
    async connect(nicName: string, signal: AbortSignal): Promise<UplinkBridged | UplinkRolledBack> {
        const entry = this.#journal.entry ?? (await this.#journal.read());
        if (entry !== undefined) {
            if (entry.step === "bridged" && entry.name === nicName) return this.#takeUp(entry, signal);
            await this.#wayBack.run(entry, await this.#whereabouts());
        }
        await this.#undoLost(nicName);
        await this.#suitable(nicName);
        await this.#apiBack(nicName, signal);
        // Seen anew: waiting may have taken long.
        const link = await this.#suitable(nicName);
        this.#state = { kind: "moving", name: nicName };
        try {
            return await this.#move(link, signal);
        } catch (error) {
            const begun = this.#journal.entry;
            const wasCut = begun !== undefined && steps.indexOf(begun.step) >= steps.indexOf("switch");
            if (begun !== undefined) await this.#wayBack.run(begun, await this.#whereabouts());
            this.#state = { kind: "idle" };
            if (!wasCut || isAborted(error)) throw error;
            return this.#rolledBack(nicName, messageOf(error));
        }
    }

    /** Gives the Node its NIC back, at a graceful end. Does nothing when the NIC was not moved. */
    async restore(_signal?: AbortSignal): Promise<void> {
        const entry = this.#journal.entry ?? (await this.#journal.read());
        if (entry !== undefined) await this.#wayBack.run(entry, await this.#whereabouts());
        this.#state = { kind: "idle" };
    }

    /**
     * To be called every second or so, and after OVS came back: a host port that OVS made anew gets back what it had,
     * and the Node its NIC when OVS stays away for some seconds.
     */
    async look(signal: AbortSignal): Promise<UplinkState> {
        const entry = this.#journal.entry;
        if (this.#state.kind !== "bridged" || entry === undefined) return this.#state;
        const host = await linkNamed(this.#netlink, entry.name);
        if (host !== undefined && isMadeByOvs(host) && host.running) {
            this.#missingSince = undefined;
            if (host.index === this.#seen?.index) {
                const snapshot = await takeSnapshot(this.#netlink, host, uptime());
                if (hasGlobalAddress(snapshot.addresses)) this.#seen = { snapshot, index: host.index };
                return this.#state;
            }
        }
        if (host !== undefined && isMadeByOvs(host) && host.index !== (this.#seen?.index ?? entry.hostIndex)) {
            this.#missingSince = undefined;
            this.#logger.info("OVS made the host port anew: it gets back what it had", { device: entry.name });
            await this.#furnish(entry, host);
            return this.#state;
        }
        const now = performance.now();
        this.#missingSince ??= now;
        if (now - this.#missingSince < this.#timing.lossMs) return this.#state;
        this.#missingSince = undefined;
        const reason = `OVS has been away for ${this.#timing.lossMs / 1000} s`;
        this.#logger.warn("the Node gets its NIC back: OVS is away", { nic: entry.name });
        const saved = this.#seen?.snapshot ?? entry.saved;
        signal.throwIfAborted();
        await this.#wayBack.run({ ...entry, saved }, await this.#whereabouts());
        return (this.#state = { kind: "lost", name: entry.name, reason });
    }

    async #move(link: Link, signal: AbortSignal): Promise<UplinkBridged | UplinkRolledBack> {
        const netlink = this.#netlink;
        const names = new Set((await netlink.links()).flatMap((one) => [one.name, ...one.altNames]));
        const name = link.name;
        const physicalName = physicalNameOf(name, (wanted) => names.has(wanted));
        await this.#removeLeftovers([name, physicalName], signal);
        const gateways = await this.#witnesses.answering(
            link.index,
            gatewaysOf({ routes: await routesOf(netlink, link.index) }),
            signal,
        );
        const here = await this.#whereabouts();
        signal.throwIfAborted();
        const nic = readNicSettings(link);
        const saved = await takeSnapshot(netlink, link, uptime());
        const entry: JournalEntry = { step: "save", ...here, name, physicalName, nic, saved };
        await this.#journal.make("save", entry, () => Promise.resolve());

        await this.#journal.make("rename", entry, async () => {
            if (!(await renameLink(netlink, link, physicalName, nic))) return;
            await placeAddresses(netlink, link.index, saved.addresses);
            await placeRoutes(netlink, link.index, saved.routes);
            await endIpv6(netlink, { ...link, name: physicalName }, nic, saved.addresses);
        });
        signal.throwIfAborted();

        const host = await this.#journal.make("host-port", entry, () => this.#makeHostPort(entry, signal));
        signal.throwIfAborted();

        await this.#journal.make("uplink-port", entry, () => this.#makeUplinkPort(entry, signal));
        signal.throwIfAborted();

        await this.#journal.make("switch", entry, () => this.#switch(entry, host, saved));
        const moved: JournalEntry = { ...entry, hostIndex: host.index };
        this.#seen = { snapshot: saved, index: host.index };

        const { checkTimeoutMs } = this.#options;
        const isConfirmed = await this.#journal.make("confirm", moved, () =>
            this.#witnesses.anyAnswers(host.index, gateways, checkTimeoutMs, signal),
        );
        if (!isConfirmed) {
            const seconds = checkTimeoutMs / 1000;
            await this.#wayBack.run(moved, here);
            return this.#rolledBack(
                name,
                `within ${seconds} s after the move neither ${witnessText(gateways)} answered`,
            );
        }
        await this.#journal.make("bridged", moved, () => Promise.resolve());
        const addresses = saved.addresses.map(({ ip }) => formatIp(ip));
        this.#logger.info("the NIC is the uplink of the bridge", { nic: name, renamedTo: physicalName, addresses });
        return (this.#state = bridged(moved));
    }

    /** The internal port as the NIC is, but without addresses. */
    async #makeHostPort(entry: JournalEntry, signal: AbortSignal): Promise<Link> {
        const { ports } = this.#parts;
        const { name, nic } = entry;
        await ports.ensurePort(this.#hostSpec({ name, nic }), signal);
        await ports.ofPort(name, this.#timing.ovsMs, signal);
        const host = await hostDevice(this.#netlink, { name, ...nic }, this.#timing.ovsMs, signal);
        await this.#prepare(entry, host);
        return host;
    }

    /** From here on OVS sees what the NIC receives. The Node's stack sees it too, until the switch. */
    async #makeUplinkPort({ physicalName }: Pick<JournalEntry, "physicalName">, signal: AbortSignal): Promise<void> {
        const { ports } = this.#parts;
        if (this.#options.mustComputeChecksums) switchOffloadsOff(physicalName);
        await ports.ensurePort(this.#uplinkSpec(physicalName), signal);
        await ports.ofPort(physicalName, this.#timing.ovsMs, signal);
    }

    /** Everything goes over within a few turns of the event loop, with nothing to wait for. */
    async #switch(entry: JournalEntry, host: Link, saved: Snapshot): Promise<void> {
        const netlink = this.#netlink;
        const { nic, physicalName } = entry;
        await netlink.setLink(host.index, { up: true });
        await placeAddresses(netlink, host.index, saved.addresses);
        await this.#takeFromNic(nic.index, physicalName);
        await this.#placeAllRoutes(host, saved);
        await placeNeighbours(netlink, host.index, saved.neighbours);
        await endIpv6(netlink, host, nic, saved.addresses);
        await this.#placeAllRoutes(host, saved);
        await placeAltNames(netlink, host.index, saved.altNames, nic.index);
    }

    /** The host port gets the settings of the NIC. */
    async #prepare({ nic, physicalName }: JournalEntry, host: Link): Promise<void> {
        copySysctls(physicalName, host.name);
        if (this.#options.mustComputeChecksums) setTxChecksumOffload(host.name, false);
        beginIpv6(host.name, nic);
        // What the kernel's datapath takes from the NIC reaches the Node by this port from then on. Copies would arrive
        // twice: on the other datapath it stays down until the switch.
        if (!this.#options.copiesFrames) await this.#netlink.setLink(host.index, { up: true });
    }

    async #takeFromNic(index: number, physicalName: string): Promise<void> {
        const netlink = this.#netlink;
        const { copiesFrames, linkGroup } = this.#options;
        if (copiesFrames) await netlink.setLink(index, { group: linkGroup });
        writeSysctl("ipv6", physicalName, "disable_ipv6", "1");
        await removeAddresses4(netlink, index);
        await removeRoutes(netlink, index, await routesOf(netlink, index));
    }

    /** A host port that OVS made anew becomes what the last one was. */
    async #furnish(entry: JournalEntry, host: Link): Promise<void> {
        const snapshot = this.#seen?.snapshot ?? entry.saved;
        await this.#prepare(entry, host);
        await this.#switch(entry, host, snapshot);
        await this.#journal.write({ ...entry, hostIndex: host.index });
        this.#seen = { snapshot, index: host.index };
    }

    async #placeAllRoutes(host: Link, saved: Snapshot): Promise<void> {
        const [refused] = await placeRoutes(this.#netlink, host.index, saved.routes);
        if (refused === undefined) return;
        throw new UplinkError(
            "NIC_UNSUITABLE",
            "environment",
            `route ${refused.route} cannot go from the NIC to ${host.name}: ${refused.reason}`,
        );
    }

    /** A complete move after a restart: nothing is asked of gateway or API server, only what is missing is put right. */
    async #takeUp(entry: JournalEntry, signal: AbortSignal): Promise<UplinkBridged | UplinkRolledBack> {
        const { ports } = this.#parts;
        const { name, physicalName, nic } = entry;
        await ports.ensurePort(this.#hostSpec(entry), signal);
        await this.#makeUplinkPort(entry, signal);
        await ports.ofPort(name, this.#timing.ovsMs, signal);
        const host = await hostDevice(this.#netlink, { name, ...nic }, this.#timing.ovsMs, signal);
        if (host.index !== (this.#seen?.index ?? entry.hostIndex)) await this.#furnish(entry, host);
        else this.#seen = { snapshot: await takeSnapshot(this.#netlink, host, uptime()), index: host.index };
        this.#logger.info("the NIC is the uplink of the bridge already", { nic: name, renamedTo: physicalName });
        return (this.#state = bridged(entry));
    }

    /** Whether the links are as a complete move left them, with an OVS that takes care of them. */
    async #stands(entry: JournalEntry, signal: AbortSignal | undefined): Promise<boolean> {
        const { nic, host } = await findPlaces(this.#netlink, entry);
        if (nic?.name !== entry.physicalName || host === undefined || host.index !== entry.hostIndex) return false;
        const addresses = await this.#netlink.addresses(host.index);
        if (!hasGlobalAddress(addresses)) return false;
        const running = async (): Promise<boolean> => (await this.#netlink.link(host.index))?.running === true;
        return comesTrue(running, this.#timing.carrierMs, signal);
    }

    /** The journal is lost, and the links say that the move was made: it is undone, so that it can be made again. */
    async #undoLost(name: string): Promise<void> {
        const here = await this.#whereabouts();
        const entry = await entryOfLinks(this.#netlink, name, here, uptime());
        if (entry === undefined) return;
        this.#logger.warn("the journal of the uplink is lost: going by the links", { nic: name });
        await this.#wayBack.run(entry, here);
    }

    /** The NIC, when it can be moved. */
    async #suitable(name: string): Promise<Link> {
        const link = await linkNamed(this.#netlink, name);
        const refuse = (code: "NIC_MISSING" | "NIC_UNSUITABLE" | "NIC_IN_USE", what: string): never => {
            throw new UplinkError(code, "environment", `${name} cannot become the uplink: ${what}`, {
                details: { link: name },
            });
        };
        if (link === undefined) return refuse("NIC_MISSING", "there is no such link; see transportInterface");
        if (link.loopback || link.type !== ethernet) refuse("NIC_UNSUITABLE", "it is no Ethernet link");
        if (isMadeByOvs(link)) refuse("NIC_UNSUITABLE", "it is a tap device or a port that OVS made");
        if (link.master !== undefined) {
            const master = await this.#netlink.link(link.master);
            refuse(
                "NIC_IN_USE",
                `it belongs to ${master?.name ?? `link ${link.master}`}; take it out, or name that one`,
            );
        }
        const port = this.#parts.ports.port(name);
        const bridge = this.#parts.ports.bridgeOf(name);
        if (bridge !== undefined && !isOurs(port)) {
            refuse("NIC_IN_USE", `it is a port of OVS bridge ${bridge}; take it out with "ovs-vsctl del-port"`);
        }
        await refuseRoutes(this.#netlink, link);
        return link;
    }

    async #apiBack(name: string, signal: AbortSignal): Promise<void> {
        while (!(await this.#witnesses.apiAnswers(signal))) {
            signal.throwIfAborted();
            if (this.#state.kind !== "waiting")
                this.#logger.warn("the API server is away: the uplink stays", { nic: name });
            this.#state = { kind: "waiting", name, reason: "the API server does not answer" };
            await sleep(apiPauseMs, signal);
        }
        signal.throwIfAborted();
    }

    /** Ports that an earlier boot left in the database: OVS would take up the new links before their step. */
    async #removeLeftovers(names: readonly string[], signal: AbortSignal): Promise<void> {
        for (const name of names) {
            if (isOurs(this.#parts.ports.port(name))) await this.#parts.ports.deletePort(name, signal);
        }
    }

    async #removePorts(names: readonly string[]): Promise<boolean> {
        const { ports } = this.#parts;
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
                this.#logger.warn("the OVS database does not take the ports out", { names, error: messageOf(error) });
                return false;
            }
        }
    }

    #hostSpec({ name, nic }: Pick<JournalEntry, "name" | "nic">): UplinkPortSpec {
        return {
            name,
            type: "internal",
            ofPortRequest: this.#options.hostOfPort,
            externalIds: { "antrea-type": "host" },
            mac: nic.mac,
            mtuRequest: nic.mtu,
        };
    }

    #uplinkSpec(name: string): UplinkPortSpec {
        return {
            name,
            type: "",
            ofPortRequest: this.#options.uplinkOfPort,
            externalIds: { "antrea-type": "uplink" },
        };
    }

    #rolledBack(name: string, reason: string): UplinkRolledBack {
        this.#logger.error("the move of the uplink was undone", { nic: name, reason });
        return (this.#state = { kind: "rolledBack", name, reason });
    }

    async #whereabouts(): Promise<Whereabouts> {
        return (this.#here ??= await whereaboutsOf(this.#options.bootId));
    }
}

/** ARPHRD_ETHER. */
const ethernet = 1;

function bridged({ name, physicalName, nic }: JournalEntry): UplinkBridged {
    return { kind: "bridged", name, physicalName, mac: nic.mac };
}

function isOurs(port: { readonly externalIds: ReadonlyMap<string, string> } | undefined): boolean {
    const type = port?.externalIds.get("antrea-type");
    return type === "host" || type === "uplink";
}
