import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { messageOf } from "@antrea/errors";
import { isNetlinkError, type Link, type Netlink } from "@antrea/netlink";
import type { Logger } from "@antrea/runtime";
import type { BootContext } from "./boot-context.ts";
import { UplinkError } from "./errors.ts";
import type { JournalEntry } from "./journal-codec.ts";
import type { Journal } from "./journal.ts";
import {
    beginIpv6,
    comesTrue,
    endIpv6,
    findPlaces,
    isMadeByOvs,
    linkNamed,
    placeAltNames,
    renameLink,
    type Places,
} from "./links.ts";
import { restoreNicSettings, restorePromiscuous } from "./nic-settings.ts";
import { placeAddresses, placeNeighbours, placeRoutes } from "./place.ts";
import { aged, hasGlobalAddress, renewed, takeSnapshot, type Snapshot } from "./snapshot.ts";

export interface RollbackComponents {
    readonly netlink: Netlink;
    readonly logger: Logger;
    readonly journal: Journal;
    /** Takes ports out of the OVS database; false when it could not be reached. */
    readonly removePorts: (names: readonly string[]) => Promise<boolean>;
    /** Takes a device from the kernel's datapath when nobody else does. */
    readonly freeFromDatapath: (name: string) => Promise<void>;
    readonly uptimeSeconds: () => number;
}

/** How long ovs-vswitchd may take to let go of a device after its port was taken out of the database. */
const ovsTimeoutMs = 1_500;
const maxRemovals = 10;

/**
 * The way back of the uplink: the NIC has its name, addresses, routes and neighbours again, from whatever step the move
 * or an earlier way back was left at. It needs no OVS: what lives in the kernel is put right first, and the Node is on
 * the network from then on.
 */
export class Rollback {
    readonly #parts: RollbackComponents;

    constructor(components: RollbackComponents) {
        this.#parts = components;
    }

    /** Resolves when the NIC is as the Node had it and the journal is empty. Again from the start when interrupted. */
    async run(entry: JournalEntry, here: BootContext): Promise<void> {
        const { netlink, journal, logger } = this.#parts;
        const places = await findPlaces(netlink, entry);
        if (places.nic === undefined || (isOfThePast(entry, here) && places.nic.name === entry.name)) {
            // The links are not those of the journal: only the ports in the database may be left of that time.
            logger.info("uplink journal refers to links that no longer exist", { nic: entry.name });
            await this.#removePorts(entry);
            if (places.host !== undefined) await this.#removeHost(places.host);
            await journal.removeAnyway();
            return;
        }
        await this.#back(entry, here, places, places.nic);
    }

    async #back(entry: JournalEntry, here: BootContext, places: Places, nic: Link): Promise<void> {
        const { journal, logger } = this.#parts;
        const saved = await this.#wanted(entry, here, places, nic);
        const base: JournalEntry = { ...entry, ...here, saved };
        await journal.makeAnyway("switch-back", base, () => this.#switchBack(base, places.host, nic));
        await journal.makeAnyway("remove-ports", base, async () => {
            if (!(await this.#removePorts(entry))) {
                logger.warn("ports of the uplink are not removed until the OVS database answers", { nic: entry.name });
            }
            if (places.host !== undefined) await this.#removeHost(places.host);
            await this.#free(nic);
        });
        await journal.makeAnyway("rename-back", base, () => this.#renameBack(base, nic));
        await journal.removeAnyway();
        logger.info("uplink restored", { nic: entry.name });
    }

    /** What the NIC is to have: what the host port has, once all was put there, else what was saved. */
    async #wanted(entry: JournalEntry, here: BootContext, { host }: Places, nic: Link): Promise<Snapshot> {
        const { netlink, uptimeSeconds } = this.#parts;
        const now = uptimeSeconds();
        const present = host === undefined ? undefined : await takeSnapshot(netlink, host, now);
        // One that OVS made anew has not all of it yet, one that a way back has taken down not any more.
        const isWhole = entry.step === "bridged" && host?.index === entry.hostIndex && host?.up === true;
        if (isWhole && present !== undefined && hasGlobalAddress(present.addresses)) return present;
        if (isOfThePast(entry, here)) return present ?? takeSnapshot(netlink, nic, now);
        const onNic = await takeSnapshot(netlink, nic, now);
        // Made anew, or brought back already by a way back that could not write: whoever gave it addresses knew them.
        const isSettled = nic.index !== entry.nic.index || (entry.step === "bridged" && host === undefined);
        if (isSettled && nic.name === entry.name && hasGlobalAddress(onNic.addresses)) return onNic;
        // A lease may have been renewed on whichever link has the address: the journal knows the old end of it.
        return renewed(aged(entry.saved, now), [...onNic.addresses, ...(present?.addresses ?? [])]);
    }

    /** The NIC takes over before anything is asked of OVS. */
    async #switchBack({ saved, nic: settings }: JournalEntry, host: Link | undefined, nic: Link): Promise<void> {
        const { netlink } = this.#parts;
        await restoreNicSettings(netlink, nic, settings);
        beginIpv6(nic.name, settings);
        await this.#tryTo("addresses", () => placeAddresses(netlink, nic.index, saved.addresses));
        // Down, so that nothing arrives twice; its routes go with that.
        if (host !== undefined) await netlink.setLink(host.index, { up: false });
        await this.#placeRoutes(nic, saved);
        await this.#tryTo("neighbours", () => placeNeighbours(netlink, nic.index, saved.neighbours));
        await this.#tryTo("IPv6 settings", () => endIpv6(netlink, nic, settings, saved.addresses));
        await this.#placeRoutes(nic, saved);
    }

    async #renameBack(entry: JournalEntry, nic: Link): Promise<void> {
        const { netlink } = this.#parts;
        if (nic.name !== entry.name) {
            const stranger = await this.#inTheWay(entry.name);
            if (stranger !== undefined) {
                throw new UplinkError(
                    "NAME_TAKEN",
                    "environment",
                    `${nic.name} cannot have its name ${entry.name} back: another link has it (${stranger.kind ?? "a NIC"}, index ${stranger.index}); its addresses are on ${nic.name}; rename or delete that link and run "antrea-agent restore-uplink"`,
                );
            }
            await renameLink(netlink, nic, entry.name, entry.nic);
        }
        const renamed = { ...nic, name: entry.name };
        // The kernel gives the labels of addresses a form of its own when their link is renamed.
        await this.#tryTo("addresses", () => placeAddresses(netlink, nic.index, entry.saved.addresses));
        await this.#placeRoutes(renamed, entry.saved);
        await this.#tryTo("IPv6 settings", () => endIpv6(netlink, renamed, entry.nic, entry.saved.addresses));
        await this.#placeRoutes(renamed, entry.saved);
        await this.#tryTo("neighbours", () => placeNeighbours(netlink, nic.index, entry.saved.neighbours));
        await this.#tryTo("alternative names", () => placeAltNames(netlink, nic.index, entry.saved.altNames));
        await restorePromiscuous(netlink, nic.index, entry.nic);
    }

    /** Who has the name of the NIC. An OVS that was not told otherwise may have made its device once more. */
    async #inTheWay(name: string): Promise<Link | undefined> {
        const { netlink } = this.#parts;
        for (let attempt = 0; attempt < maxRemovals; attempt++) {
            const link = await linkNamed(netlink, name);
            if (link === undefined || !isMadeByOvs(link)) return link;
            await this.#takeAway(link);
        }
        return linkNamed(netlink, name);
    }

    /** One thing that the kernel does not take shall not keep the Node from getting the others. */
    async #tryTo(what: string, work: () => Promise<void>): Promise<void> {
        try {
            await work();
        } catch (error) {
            if (!isNetlinkError(error)) throw error;
            this.#parts.logger.warn("configuration of the NIC was not restored completely", {
                what,
                error: messageOf(error),
            });
        }
    }

    async #placeRoutes(nic: Link, saved: Snapshot): Promise<void> {
        const refused = await placeRoutes(this.#parts.netlink, nic.index, saved.routes);
        for (const one of refused) this.#parts.logger.warn("route cannot be restored", { nic: nic.name, ...one });
    }

    async #removePorts({ name, physicalName }: JournalEntry): Promise<boolean> {
        return this.#parts.removePorts([physicalName, name]);
    }

    /** The device of the host port goes with its port; it is taken away when OVS does not do it. */
    async #removeHost(host: Link): Promise<void> {
        const { netlink } = this.#parts;
        const gone = async (): Promise<boolean> => (await netlink.link(host.index)) === undefined;
        if (await comesTrue(gone, host.running ? ovsTimeoutMs : 0)) return;
        await this.#takeAway(host);
    }

    /** A device of the kernel's datapath goes with its port there. */
    async #takeAway(host: Link): Promise<void> {
        if (host.kind === "openvswitch") await this.#parts.freeFromDatapath(host.name);
        else await this.#parts.netlink.deleteLink(host.index);
    }

    /** The kernel's datapath keeps what it got when nobody tells it otherwise. */
    async #free(nic: Link): Promise<void> {
        const { netlink } = this.#parts;
        const master = (await netlink.link(nic.index))?.master;
        const above = master === undefined ? undefined : await netlink.link(master);
        if (above === undefined || !isMadeByOvs(above)) return;
        const free = async (): Promise<boolean> => (await netlink.link(nic.index))?.master !== master;
        if (!(await comesTrue(free, ovsTimeoutMs))) await this.#parts.freeFromDatapath(nic.name);
    }
}

/** True for a journal of an earlier boot, or of the Node as another container. */
function isOfThePast(entry: JournalEntry, { bootId, netns }: BootContext): boolean {
    return entry.bootId !== bootId || entry.netns !== netns;
}

/** Takes a device from the kernel's datapath with ovs-dpctl(8), which speaks to the kernel: no daemon is needed. */
export async function freeFromDatapath(name: string): Promise<void> {
    await promisify(execFile)("ovs-dpctl", ["del-if", "ovs-system", name], { timeout: 5_000 });
}
