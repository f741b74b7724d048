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
import { placeAddresses, placeNeighbours } from "./place-addresses.ts";
import { placeRoutes } from "./place-routes.ts";
import { aged, renewed } from "./snapshot-changes.ts";
import { hasGlobalAddress, takeSnapshot, type Snapshot } from "./snapshot.ts";

/** Dependencies of Rollback. */
export interface RollbackComponents {
    readonly netlink: Netlink;
    readonly logger: Logger;
    readonly journal: Journal;
    /** Removes ports from the OVS database; false if it was not reachable. Must not reject. */
    readonly removePorts: (names: readonly string[]) => Promise<boolean>;
    /** Removes a device from the kernel datapath if OVS does not. */
    readonly freeFromDatapath: (name: string) => Promise<void>;
    /** Seconds since boot, the clock of snapshots. */
    readonly uptimeSeconds: () => number;
}

/** How long ovs-vswitchd may take to release a device after its port was removed from the database. */
const ovsTimeoutMs = 1_500;
const maxRemovals = 10;

/**
 * Rolls back the uplink: restores name, addresses, routes and neighbours of the NIC, from any step at which the move or
 * an earlier rollback stopped. Works without OVS: the kernel state is restored first, and the Node is on the network
 * from then on. Cannot be aborted; calls must not overlap with each other or a move.
 */
export class Rollback {
    readonly #parts: RollbackComponents;

    constructor(components: RollbackComponents) {
        this.#parts = components;
    }

    /**
     * Resolves when the NIC is restored and the journal removed, or when the links of the journal no longer exist.
     * After a rejection or an interruption, to be run again from the start. Rejects with UplinkError `NAME_TAKEN` if
     * another link has the name of the NIC, and with NetlinkError; addresses and routes that the kernel rejects are
     * only logged.
     */
    async run(entry: JournalEntry, here: BootContext): Promise<void> {
        const { netlink, journal, logger } = this.#parts;
        const places = await findPlaces(netlink, entry);
        if (places.nic === undefined || (isOfThePast(entry, here) && places.nic.name === entry.name)) {
            // The journal's links do not exist: only ports in the database may remain from that time.
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

    /** The configuration to restore: that of the host port if it was complete, else the saved one. */
    async #wanted(entry: JournalEntry, here: BootContext, { host }: Places, nic: Link): Promise<Snapshot> {
        const { netlink, uptimeSeconds } = this.#parts;
        const now = uptimeSeconds();
        const present = host === undefined ? undefined : await takeSnapshot(netlink, host, now);
        // A recreated host port may not have the complete configuration yet; one that a rollback has set down no longer
        // has it.
        const isWhole = entry.step === "bridged" && host?.index === entry.hostIndex && host?.up === true;
        if (isWhole && present !== undefined && hasGlobalAddress(present.addresses)) return present;
        if (isOfThePast(entry, here)) return present ?? takeSnapshot(netlink, nic, now);
        const onNic = await takeSnapshot(netlink, nic, now);
        // A recreated NIC, or one restored by a rollback that could not write the journal: its addresses are current.
        const isSettled = nic.index !== entry.nic.index || (entry.step === "bridged" && host === undefined);
        if (isSettled && nic.name === entry.name && hasGlobalAddress(onNic.addresses)) return onNic;
        // A lease may have been renewed on either link; the journal has only the earlier expiry.
        return renewed(aged(entry.saved, now), [...onNic.addresses, ...(present?.addresses ?? [])]);
    }

    /** Configures the NIC before OVS is involved. */
    async #switchBack({ saved, nic: settings }: JournalEntry, host: Link | undefined, nic: Link): Promise<void> {
        const { netlink } = this.#parts;
        await restoreNicSettings(netlink, nic, settings);
        beginIpv6(nic.name, settings);
        await this.#tryTo("addresses", () => placeAddresses(netlink, nic.index, saved.addresses));
        // Set down, so that nothing is received twice; this also removes its routes.
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
        // Renaming a link makes the kernel rewrite its address labels.
        await this.#tryTo("addresses", () => placeAddresses(netlink, nic.index, entry.saved.addresses));
        await this.#placeRoutes(renamed, entry.saved);
        await this.#tryTo("IPv6 settings", () => endIpv6(netlink, renamed, entry.nic, entry.saved.addresses));
        await this.#placeRoutes(renamed, entry.saved);
        await this.#tryTo("neighbours", () => placeNeighbours(netlink, nic.index, entry.saved.neighbours));
        await this.#tryTo("alternative names", () => placeAltNames(netlink, nic.index, entry.saved.altNames));
        await restorePromiscuous(netlink, nic.index, entry.nic);
    }

    /** The link that has the NIC's name. OVS may have recreated its device meanwhile. */
    async #inTheWay(name: string): Promise<Link | undefined> {
        const { netlink } = this.#parts;
        for (let attempt = 0; attempt < maxRemovals; attempt++) {
            const link = await linkNamed(netlink, name);
            if (link === undefined || !isMadeByOvs(link)) return link;
            await this.#takeAway(link);
        }
        return linkNamed(netlink, name);
    }

    /** A failure of one part must not prevent the others from being restored. */
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

    /** The device of the host port is removed with its port; if OVS does not do that, it is removed here. */
    async #removeHost(host: Link): Promise<void> {
        const { netlink } = this.#parts;
        const gone = async (): Promise<boolean> => (await netlink.link(host.index)) === undefined;
        if (await comesTrue(gone, host.running ? ovsTimeoutMs : 0)) return;
        await this.#takeAway(host);
    }

    /** A device of the kernel datapath is deleted with its datapath port. */
    async #takeAway(host: Link): Promise<void> {
        if (host.kind === "openvswitch") await this.#parts.freeFromDatapath(host.name);
        else await this.#parts.netlink.deleteLink(host.index);
    }

    /** The kernel datapath keeps its ports until they are removed explicitly. */
    async #free(nic: Link): Promise<void> {
        const { netlink } = this.#parts;
        const master = (await netlink.link(nic.index))?.master;
        const above = master === undefined ? undefined : await netlink.link(master);
        if (above === undefined || !isMadeByOvs(above)) return;
        const free = async (): Promise<boolean> => (await netlink.link(nic.index))?.master !== master;
        if (!(await comesTrue(free, ovsTimeoutMs))) await this.#parts.freeFromDatapath(nic.name);
    }
}

/** Whether the journal is from an earlier boot, or from the Node as another container. */
function isOfThePast(entry: JournalEntry, { bootId, netns }: BootContext): boolean {
    return entry.bootId !== bootId || entry.netns !== netns;
}

/**
 * Removes a device from the kernel datapath `ovs-system` with ovs-dpctl(8), which works without a daemon. Rejects with
 * the error of `execFile` (node:child_process) if the program fails or takes longer than 5 s.
 */
export async function freeFromDatapath(name: string): Promise<void> {
    await promisify(execFile)("ovs-dpctl", ["del-if", "ovs-system", name], { timeout: 5_000 });
}
