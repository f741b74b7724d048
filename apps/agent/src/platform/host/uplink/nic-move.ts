import { uptime } from "node:os";
import type { IpAddress } from "@antrea/ip";
import type { Link, Netlink } from "@antrea/netlink";
import type { BootContext } from "./boot-context.ts";
import { probeTargetsText, type ConnectivityProbes } from "./connectivity-probes.ts";
import type { HostPort } from "./host-port.ts";
import type { JournalEntry } from "./journal-codec.ts";
import type { Journal } from "./journal.ts";
import { endIpv6, renameLink } from "./links.ts";
import { physicalNameOf } from "./names.ts";
import { readNicSettings } from "./nic-settings.ts";
import type { OwnPorts } from "./own-ports.ts";
import { placeAddresses } from "./place-addresses.ts";
import { placeRoutes, routesOf } from "./place-routes.ts";
import { changed } from "./snapshot-changes.ts";
import {
    distinctGateways,
    gatewaysOf,
    hasGlobalAddress,
    refuseRoutes,
    takeSnapshot,
    type Snapshot,
} from "./snapshot.ts";
import type { SwitchOver } from "./switch-over.ts";
import type { UplinkComponents, UplinkOptions } from "./types.ts";

/** Dependencies of NicMove. */
export interface NicMoveComponents {
    readonly netlink: Netlink;
    readonly journal: Pick<Journal, "make">;
    readonly connectivityProbes: ConnectivityProbes;
    readonly ownPorts: OwnPorts;
    readonly switchOver: SwitchOver;
    readonly hostPort: Pick<HostPort, "saw">;
    /** See UplinkComponents. */
    readonly apiIsLocal: UplinkComponents["apiIsLocal"] | undefined;
}

/** The result of a move. */
export interface Moved {
    /** The state as of the move; what a rollback starts from if there is a problem. */
    readonly entry: JournalEntry;
    /** Why the Node's connectivity is not confirmed, as part of a sentence; undefined if it is. */
    readonly problem: string | undefined;
}

/**
 * Makes the NIC a port of the bridge, each step written to the journal before it is made. It neither rolls back nor
 * makes the last step `bridged`: the caller does one of them.
 */
export class NicMove {
    readonly #parts: NicMoveComponents;
    readonly #checkTimeoutMs: number;
    readonly #usesAllGateways: boolean;

    constructor(components: NicMoveComponents, options: Pick<UplinkOptions, "checkTimeoutMs" | "usesAllGateways">) {
        this.#parts = components;
        this.#checkTimeoutMs = options.checkTimeoutMs;
        this.#usesAllGateways = options.usesAllGateways ?? false;
    }

    /**
     * Makes the move up to the step `confirm`. If it rejects, by NetlinkError, UplinkError or the signal's reason, the
     * journal has the step from which to roll back, or no entry if nothing was changed.
     *
     * @param link the NIC, which `suitableNic` accepted
     */
    async run(link: Link, here: BootContext, signal: AbortSignal): Promise<Moved> {
        const { apiIsLocal, connectivityProbes, hostPort, journal, netlink, ownPorts, switchOver } = this.#parts;
        const name = link.name;
        const physicalName = await freePhysicalName(netlink, name);
        const gateways = await connectivityProbes.answering(link.index, await this.#gatewaysOf(link), signal);
        const withApi = gateways.length === 0 || (await apiIsLocal?.()) !== true;
        signal.throwIfAborted();
        const nic = readNicSettings(link);
        const first = await takeSnapshot(netlink, link, uptime());
        const begun: JournalEntry = { step: "save", ...here, name, physicalName, nic, saved: first };
        await journal.make("save", begun, () => Promise.resolve());

        const { saved, renamed } = await journal.make("rename", begun, async () => {
            // The disk write may have taken time.
            const saved = await takeSnapshot(netlink, link, uptime());
            if (await renameLink(netlink, link, physicalName, nic)) {
                await placeAddresses(netlink, link.index, saved.addresses);
                await placeRoutes(netlink, link.index, saved.routes);
                await endIpv6(netlink, { ...link, name: physicalName }, nic, saved.addresses);
            }
            return { saved, renamed: await takeSnapshot(netlink, link, uptime()) };
        });
        const entry: JournalEntry = { ...begun, saved };
        signal.throwIfAborted();

        const host = await journal.make("host-port", entry, async () => {
            const made = await ownPorts.makeHost(entry, signal);
            await switchOver.prepare(entry, made);
            return made;
        });
        signal.throwIfAborted();

        await journal.make("uplink-port", entry, () => ownPorts.makeUplink(physicalName, signal));
        signal.throwIfAborted();

        const latest = await journal.make("switch", entry, async () => {
            const snapshot = await this.#latest({ ...link, name: physicalName }, saved, renamed);
            await switchOver.run(entry, host, snapshot);
            return snapshot;
        });
        const moved: JournalEntry = { ...entry, hostIndex: host.index, saved: latest };
        hostPort.saw(latest, host.index);

        const isConfirmed = await journal.make("confirm", moved, () =>
            connectivityProbes.anyAnswers(host.index, { gateways, withApi }, this.#checkTimeoutMs, signal),
        );
        const seconds = this.#checkTimeoutMs / 1000;
        const targets = probeTargetsText(gateways, withApi);
        return {
            entry: moved,
            problem: isConfirmed ? undefined : `within ${seconds} s after the move neither ${targets} answered`,
        };
    }

    async #gatewaysOf({ index }: Link): Promise<readonly IpAddress[]> {
        const routes = await routesOf(this.#parts.netlink, index);
        const ofDefault = gatewaysOf({ routes });
        return ofDefault.length === 0 && this.#usesAllGateways ? distinctGateways(routes) : ofDefault;
    }

    /**
     * The saved snapshot plus the changes on the NIC since its rename, since OVS and the disk may have taken time. If a
     * program has removed the addresses after the rename, only the saved snapshot counts.
     */
    async #latest(link: Link, saved: Snapshot, renamed: Snapshot): Promise<Snapshot> {
        const { netlink } = this.#parts;
        await refuseRoutes(netlink, link);
        const now = await takeSnapshot(netlink, link, uptime());
        return hasGlobalAddress(now.addresses) ? changed(saved, renamed, now) : saved;
    }
}

/**
 * The name that the NIC of this name gets: the first of `physicalNameOf` that no link has, also not as an alternative
 * name. Rejects with NetlinkError.
 */
export async function freePhysicalName(netlink: Netlink, name: string): Promise<string> {
    const names = new Set((await netlink.links()).flatMap((one) => [one.name, ...one.altNames]));
    return physicalNameOf(name, (wanted) => names.has(wanted));
}
