import { sameIp, type IpAddress } from "@antrea/ip";
import { attachmentKey, type Attachment } from "./attachment.ts";
import type { PodInterface } from "./pod-interface.ts";

/** Whether the allocations of an interface are released with it, or kept for the next sandbox of its Pod. */
export type Claims = "release" | "keep";

/** A change of an interface; with `removed`, its last state. The start of a state such as leaving is a change too. */
export interface PodInterfaceChange {
    readonly type: "added" | "changed" | "removed";
    readonly known: PodInterface;
}

/** The table as used by everything except Pod wiring. */
export type PodInterfaceView = Pick<
    PodInterfaces,
    "list" | "get" | "isConnected" | "isIsolated" | "isLeaving" | "isUndecided" | "subscribe"
>;

/**
 * The Pod interfaces of this Node with their records, and the states that are not part of a record. Pod wiring writes
 * it, each interface under the lock of its container (see `InterfaceControl`); features read it and subscribe to it.
 */
export class PodInterfaces {
    readonly #interfaces = new Map<string, PodInterface>();
    /** By key, interfaces whose removal has begun and is not complete. */
    readonly #leaving = new Map<string, Claims>();
    /** By key; only interfaces found at startup, so few that the entries are kept. */
    readonly #undecided = new Set<string>();
    readonly #listeners = new Set<(change: PodInterfaceChange) => void>();

    /** Every interface that is wired, being wired, or not removed completely yet. */
    list(): readonly PodInterface[] {
        return [...this.#interfaces.values()];
    }

    /** The interface of an attachment; undefined if there is none. */
    get(attachment: Attachment): PodInterface | undefined {
        return this.#interfaces.get(attachmentKey(attachment));
    }

    /** Whether the interface has neither flows nor route, according to its record. */
    isIsolated(attachment: Attachment): boolean {
        return this.get(attachment)?.record.isolated === true;
    }

    /** Whether the interface was to be removed while OVS was unavailable: the reconcile retries the removal. */
    isLeaving(attachment: Attachment): boolean {
        return this.#leaving.has(attachmentKey(attachment));
    }

    /** Whether this start isolated the interface, which was connected before, until its allocations are compared. */
    isUndecided(attachment: Attachment): boolean {
        return this.#undecided.has(attachmentKey(attachment));
    }

    /** Whether an interface that is neither isolated nor being removed has the address. */
    isConnected(ip: IpAddress): boolean {
        return this.list().some(
            ({ record }) =>
                record.isolated !== true &&
                !this.isLeaving(record) &&
                record.addresses.some((address) => sameIp(address.ip, ip)),
        );
    }

    /**
     * Calls the listener synchronously after each change; it must neither throw nor block. Disposing of the result
     * unsubscribes. An interface is added before its flows are in OVS and before its ADD completes: `addedAt` is
     * Infinity until then.
     */
    subscribe(listener: (change: PodInterfaceChange) => void): Disposable {
        const own = (change: PodInterfaceChange): void => listener(change);
        this.#listeners.add(own);
        return { [Symbol.dispose]: () => void this.#listeners.delete(own) };
    }

    /** Adds an interface, or changes its record, port number or time. */
    put(known: PodInterface): void {
        const key = attachmentKey(known.record);
        const type = this.#interfaces.has(key) ? "changed" : "added";
        this.#interfaces.set(key, known);
        this.#report({ type, known });
    }

    /** See `isUndecided`. */
    setUndecided(attachment: Attachment): void {
        this.#undecided.add(attachmentKey(attachment));
        this.#reportChanged(attachment);
    }

    /**
     * Marks an interface as being removed. A release that could not be completed remains a release; returns the
     * effective value.
     */
    leave(attachment: Attachment, claims: Claims): Claims {
        const key = attachmentKey(attachment);
        const before = this.#leaving.get(key);
        const fate = claims === "release" ? claims : (before ?? claims);
        this.#leaving.set(key, fate);
        if (before === undefined) this.#reportChanged(attachment);
        return fate;
    }

    /** The interface is completely removed. */
    remove(attachment: Attachment): void {
        const key = attachmentKey(attachment);
        const known = this.#interfaces.get(key);
        this.#interfaces.delete(key);
        this.#leaving.delete(key);
        if (known !== undefined) this.#report({ type: "removed", known });
    }

    #reportChanged(attachment: Attachment): void {
        const known = this.get(attachment);
        if (known !== undefined) this.#report({ type: "changed", known });
    }

    #report(change: PodInterfaceChange): void {
        for (const listener of this.#listeners) listener(change);
    }
}
