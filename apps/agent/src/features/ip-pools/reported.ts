import { formatIp, type IpAddress } from "@antrea/ip";
import { type Attachment, attachmentKey } from "../../platform/pod-interfaces/index.ts";

/**
 * Deduplicates reports about addresses of interfaces: each is logged once, and recorded once as an event as soon as the
 * Pod has a name. Its user calls `forget` when a condition ends, and `keep` for those whose interface is gone.
 */
export class Reported {
    /** By interface and address: whether the event is recorded. */
    readonly #reported = new Map<string, boolean>();

    /** Number of reported addresses. */
    get size(): number {
        return this.#reported.size;
    }

    /**
     * Reports an address unless that was done before.
     *
     * @param first logs; called once
     * @param event records the event; called again by each report until it returns true, false if that is not possible
     * yet
     */
    report(
        wired: Attachment,
        ip: IpAddress,
        { first, event }: { readonly first: () => void; readonly event: () => boolean },
    ): void {
        const key = keyOf(wired, ip);
        const isRecorded = this.#reported.get(key);
        if (isRecorded === undefined) first();
        this.#reported.set(key, isRecorded === true || event());
    }

    /** The condition has ended; if it recurs, it is reported again. */
    forget(wired: Attachment, ip: IpAddress): void {
        this.#reported.delete(keyOf(wired, ip));
    }

    /** Drops the entries of all other interfaces. */
    keep(present: readonly Attachment[]): void {
        const known = new Set(present.map(attachmentKey));
        for (const key of this.#reported.keys())
            if (!known.has(key.slice(0, key.lastIndexOf(" ")))) this.#reported.delete(key);
    }
}

function keyOf(wired: Attachment, ip: IpAddress): string {
    return `${attachmentKey(wired)} ${formatIp(ip)}`;
}
