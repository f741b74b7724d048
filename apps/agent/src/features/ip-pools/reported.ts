import { formatIp, type IpAddress } from "@antrea/ip";
import { type Attachment, attachmentKey } from "../../platform/pod-interfaces/index.ts";

/**
 * Of which addresses of interfaces something was reported: at once in the log, and by an event on the Pod as soon as that
 * has a name, each once.
 */
export class Reported {
    /** By interface and address: whether the event is recorded. */
    readonly #told = new Map<string, boolean>();

    get size(): number {
        return this.#told.size;
    }

    /** @param event false when the event cannot be recorded yet */
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

    /** It is so no more; when it is again, it is reported again. */
    forget(wired: Attachment, ip: IpAddress): void {
        this.#told.delete(keyOf(wired, ip));
    }

    /** Forgets all but these interfaces. */
    keep(present: readonly Attachment[]): void {
        const known = new Set(present.map(attachmentKey));
        for (const key of this.#told.keys()) if (!known.has(key.slice(0, key.lastIndexOf(" ")))) this.#told.delete(key);
    }
}

function keyOf(wired: Attachment, ip: IpAddress): string {
    return `${attachmentKey(wired)} ${formatIp(ip)}`;
}
