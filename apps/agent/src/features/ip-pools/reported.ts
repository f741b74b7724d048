import { formatIp, type IpAddress } from "@antrea/ip";
import { type Attachment, attachmentKey } from "../../platform/pod-interfaces/index.ts";

/**
 * Deduplicates reports about addresses of interfaces: each is logged once, and recorded once as an event as soon as the
 * Pod has a name.
 */
export class Reported {
    /** By interface and address: whether the event is recorded. */
    readonly #told = new Map<string, boolean>();

    /** Number of reported addresses. */
    get size(): number {
        return this.#told.size;
    }

    /**
     * Reports an address unless that was done before.
     *
     * @param event returns false if the event cannot be recorded yet
     */
    report(
        wired: Attachment,
        ip: IpAddress,
        { first, event }: { readonly first: () => void; readonly event: () => boolean },
    ): void {
        const key = keyOf(wired, ip);
        const told = this.#told.get(key);
        if (told === undefined) first();
        this.#told.set(key, told === true || event());
    }

    /** The condition has ended; if it recurs, it is reported again. */
    forget(wired: Attachment, ip: IpAddress): void {
        this.#told.delete(keyOf(wired, ip));
    }

    /** Drops the entries of all other interfaces. */
    keep(present: readonly Attachment[]): void {
        const known = new Set(present.map(attachmentKey));
        for (const key of this.#told.keys()) if (!known.has(key.slice(0, key.lastIndexOf(" ")))) this.#told.delete(key);
    }
}

function keyOf(wired: Attachment, ip: IpAddress): string {
    return `${attachmentKey(wired)} ${formatIp(ip)}`;
}
