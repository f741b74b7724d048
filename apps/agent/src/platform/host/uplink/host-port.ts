import { uptime } from "node:os";
import type { Link, Netlink } from "@antrea/netlink";
import type { JournalEntry } from "./journal-codec.ts";
import type { Journal } from "./journal.ts";
import { aged, sameSnapshot } from "./snapshot-changes.ts";
import { hasGlobalAddress, takeSnapshot, type Snapshot } from "./snapshot.ts";
import type { SwitchOver } from "./switch-over.ts";

/** Dependencies of HostPort. */
export interface HostPortComponents {
    readonly netlink: Netlink;
    readonly journal: Pick<Journal, "writeAnyway">;
    readonly switchOver: Pick<SwitchOver, "prepare" | "run">;
}

/**
 * What is known of the host port's configuration, with which it is recreated and the NIC restored. In memory; `furnish`
 * and `follow` also write the journal.
 */
export class HostPort {
    readonly #netlink: Netlink;
    readonly #journal: HostPortComponents["journal"];
    readonly #switchOver: HostPortComponents["switchOver"];
    readonly #saveMs: number;
    /** The last complete state of the host port; a recreated host port counts once it has that state again. */
    #seen: { readonly snapshot: Snapshot; readonly index: number } | undefined;
    #savedAt = -Infinity;

    /** @param options `saveMs`: see UplinkTiming */
    constructor(components: HostPortComponents, options: { readonly saveMs: number }) {
        this.#netlink = components.netlink;
        this.#journal = components.journal;
        this.#switchOver = components.switchOver;
        this.#saveMs = options.saveMs;
    }

    /** Records that the host port has this state, which is complete; `index` is its ifindex. */
    saw(snapshot: Snapshot, index: number): void {
        this.#seen = { snapshot, index };
    }

    /** Whether OVS has recreated the host port, so that it lacks its configuration. */
    isRecreated(entry: JournalEntry, host: Link): boolean {
        return host.index !== (this.#seen?.index ?? entry.hostIndex);
    }

    /**
     * The entry with the last known state of the host port; the entry itself if it is not of a complete move or no
     * state is known.
     */
    current(entry: JournalEntry): JournalEntry {
        const saved = entry.step === "bridged" ? this.#seen?.snapshot : undefined;
        return saved === undefined ? entry : { ...entry, saved };
    }

    /**
     * Configures a host port that OVS recreated like the previous one, and updates the journal. Rejects with
     * NetlinkError, or UplinkError `NIC_UNSUITABLE` if a route is rejected.
     */
    async furnish(entry: JournalEntry, host: Link): Promise<void> {
        const snapshot = aged(this.current(entry).saved, uptime());
        await this.#switchOver.prepare(entry, host);
        await this.#switchOver.run(entry, host, snapshot);
        await this.#journal.writeAnyway({ ...entry, hostIndex: host.index, saved: snapshot });
        this.saw(snapshot, host.index);
    }

    /**
     * Records changes on the host port, such as renewed leases, for a later restore, also by the next agent: the
     * journal is written at most every `saveMs`. A state without a global address is ignored. Rejects with
     * NetlinkError.
     */
    async follow(entry: JournalEntry, host: Link): Promise<void> {
        const snapshot = await takeSnapshot(this.#netlink, host, uptime());
        if (!hasGlobalAddress(snapshot.addresses)) return;
        // A link that was removed or set down between two of the requests still had addresses, but no routes.
        if ((await this.#netlink.link(host.index))?.up !== true) return;
        this.saw(snapshot, host.index);
        const now = performance.now();
        if (now - this.#savedAt < this.#saveMs || sameSnapshot(snapshot, entry.saved)) return;
        this.#savedAt = now;
        await this.#journal.writeAnyway({ ...entry, saved: snapshot });
    }
}
