import type { IpAddress } from "@antrea/ip";
import { AddressIndex } from "./address-index.ts";
import { attachmentKey, type Attachment } from "./attachment.ts";
import type { PodInterface } from "./pod-interface.ts";

/**
 * What the removal of an interface does with its allocations: releases them, or keeps them for the next sandbox of its
 * Pod.
 */
export type ReleasePolicy = "release" | "keep";

/** A change of an interface. The start of a state such as leaving is a change too, in which `known` is as `before`. */
export interface PodInterfaceChange {
    readonly type: "added" | "changed" | "removed";
    /** With `removed`, its last state. */
    readonly known: PodInterface;
    /** Undefined with `added`. */
    readonly before: PodInterface | undefined;
}

/** Whether the change is that an ADD of the interface has just succeeded, also a repeated one. Pure function. */
export function isAddCompleted({ type, known, before }: PodInterfaceChange): boolean {
    return type === "changed" && before?.addedAt === Infinity && Number.isFinite(known.addedAt);
}

/**
 * The table as used by everything except Pod wiring: read-only, with `subscribe`. It always shows the current state.
 */
export type PodInterfaceView = Pick<
    PodInterfaces,
    "list" | "get" | "ofContainer" | "isConnected" | "isIsolated" | "isLeaving" | "isUndecided" | "subscribe"
>;

interface Entry {
    known: PodInterface;
    /** Undefined unless its removal has begun and is not complete. */
    leaving: ReleasePolicy | undefined;
    isConnecting: boolean;
    isUndecided: boolean;
}

/**
 * The Pod interfaces of this Node with their records, and the states that are not part of a record: leaving,
 * connecting, undecided. They end with the interface. Pod wiring writes the table, each interface under the lock of its
 * container (see `InterfaceControl`); features read it and subscribe to it. In memory only: wiring fills it at startup.
 */
export class PodInterfaces {
    readonly #entries = new Map<string, Entry>();
    /** The entries of each container: a Node has hundreds. */
    readonly #byContainer = new Map<string, Set<Entry>>();
    readonly #byAddress = new AddressIndex<Entry>();
    readonly #listeners = new Set<(change: PodInterfaceChange) => void>();

    /** Every interface that is wired, being wired, or not removed completely yet. */
    list(): readonly PodInterface[] {
        return [...this.#entries.values()].map(({ known }) => known);
    }

    /** Those that the Node must reach: connected or being reconnected, and not being removed. */
    reachable(): readonly PodInterface[] {
        return [...this.#entries.values()].filter(isReachable).map(({ known }) => known);
    }

    /** The interface of an attachment; undefined if there is none. */
    get(attachment: Attachment): PodInterface | undefined {
        return this.#entry(attachment)?.known;
    }

    /** The interfaces of a container. */
    ofContainer(containerId: string): readonly PodInterface[] {
        return [...(this.#byContainer.get(containerId) ?? [])].map(({ known }) => known);
    }

    /**
     * Whether the interface has neither flows nor route, according to its record; it may have them again while it is
     * being reconnected.
     */
    isIsolated(attachment: Attachment): boolean {
        const entry = this.#entry(attachment);
        return entry !== undefined && isIsolated(entry);
    }

    /**
     * Whether the removal of the interface has begun and is not complete: it is in progress, or the reconcile retries
     * it because OVS was unavailable.
     */
    isLeaving(attachment: Attachment): boolean {
        return this.#entry(attachment)?.leaving !== undefined;
    }

    /**
     * Whether this start of the agent isolated the interface, which was connected before, because its allocations were
     * not compared yet. Stays true until the interface is removed, also after the comparison.
     */
    isUndecided(attachment: Attachment): boolean {
        return this.#entry(attachment)?.isUndecided === true;
    }

    /** Whether an interface that is neither isolated nor being removed has the address. */
    isConnected(ip: IpAddress): boolean {
        return this.#byAddress.with(ip).some((entry) => !isIsolated(entry) && entry.leaving === undefined);
    }

    /** Whether the Node must reach another interface than that of the attachment by the address; see `reachable`. */
    isReachedElsewhere(attachment: Attachment, ip: IpAddress): boolean {
        const own = this.#entry(attachment);
        return this.#byAddress.with(ip).some((entry) => entry !== own && isReachable(entry));
    }

    /**
     * An interface other than that of the attachment that may have traffic with the address: one that is not isolated,
     * also while it is being removed, or that is being reconnected. Undefined if there is none.
     */
    otherUser(attachment: Attachment, ip: IpAddress): PodInterface | undefined {
        const own = this.#entry(attachment);
        return this.#byAddress.with(ip).find((entry) => entry !== own && (!isIsolated(entry) || entry.isConnecting))
            ?.known;
    }

    /**
     * Calls the listener synchronously after each change; it must neither throw nor block, and no ADD or DEL waits for
     * it: what must be in place before an ADD is answered, as the flows of a VLAN, is called by Pod wiring instead.
     * Disposing of the result unsubscribes. An interface is added before its flows are in OVS and before its ADD
     * completes: `addedAt` is Infinity until then, see `isAddCompleted`.
     */
    subscribe(listener: (change: PodInterfaceChange) => void): Disposable {
        const own = (change: PodInterfaceChange): void => listener(change);
        this.#listeners.add(own);
        return { [Symbol.dispose]: () => void this.#listeners.delete(own) };
    }

    /**
     * Adds an interface, or changes its record, port number or time. Reported as `changed` even if nothing differs. A
     * record that is not isolated ends `connecting`.
     */
    put(known: PodInterface): void {
        const entry = this.#entry(known.record);
        if (entry === undefined) {
            const added: Entry = { known, leaving: undefined, isConnecting: false, isUndecided: false };
            this.#entries.set(attachmentKey(known.record), added);
            const { containerId } = known.record;
            const others = this.#byContainer.get(containerId);
            if (others === undefined) this.#byContainer.set(containerId, new Set([added]));
            else others.add(added);
            this.#byAddress.move(added, [], addressesOf(known));
            this.#report({ type: "added", known, before: undefined });
            return;
        }
        const before = entry.known;
        this.#byAddress.move(entry, addressesOf(before), addressesOf(known));
        entry.known = known;
        if (!isIsolated(entry)) entry.isConnecting = false;
        this.#report({ type: "changed", known, before });
    }

    /** Sets `isUndecided`, and reports a change; no effect if the interface is unknown. */
    setUndecided(attachment: Attachment): void {
        const entry = this.#entry(attachment);
        if (entry === undefined) return;
        entry.isUndecided = true;
        this.#reportState(entry);
    }

    /**
     * Marks whether an interface that is isolated by its record is being reconnected, and so may have traffic. It ends
     * when the record is no longer isolated, or when the traffic is removed again. No effect if the interface is
     * unknown.
     */
    setConnecting(attachment: Attachment, isConnecting: boolean): void {
        const entry = this.#entry(attachment);
        if (entry === undefined || entry.isConnecting === isConnecting) return;
        entry.isConnecting = isConnecting;
        this.#reportState(entry);
    }

    /**
     * Marks an interface as being removed. A release that could not be completed remains a release; returns the
     * effective value, of an unknown interface the given one.
     */
    leave(attachment: Attachment, allocations: ReleasePolicy): ReleasePolicy {
        const entry = this.#entry(attachment);
        if (entry === undefined) return allocations;
        const before = entry.leaving;
        entry.leaving = allocations === "release" ? allocations : (before ?? allocations);
        if (before === undefined) this.#reportState(entry);
        return entry.leaving;
    }

    /** Removes an interface whose port and flows are gone; no effect if it is unknown. */
    remove(attachment: Attachment): void {
        const entry = this.#entry(attachment);
        if (entry === undefined) return;
        this.#entries.delete(attachmentKey(attachment));
        const left = this.#byContainer.get(attachment.containerId);
        left?.delete(entry);
        if (left?.size === 0) this.#byContainer.delete(attachment.containerId);
        this.#byAddress.move(entry, addressesOf(entry.known), []);
        this.#report({ type: "removed", known: entry.known, before: entry.known });
    }

    #entry(attachment: Attachment): Entry | undefined {
        return this.#entries.get(attachmentKey(attachment));
    }

    #reportState({ known }: Entry): void {
        this.#report({ type: "changed", known, before: known });
    }

    #report(change: PodInterfaceChange): void {
        for (const listener of this.#listeners) listener(change);
    }
}

function isReachable(entry: Entry): boolean {
    return entry.leaving === undefined && (!isIsolated(entry) || entry.isConnecting);
}

function isIsolated({ known }: Entry): boolean {
    return known.record.isolated === true;
}

function addressesOf({ record }: PodInterface): readonly IpAddress[] {
    return record.addresses.map(({ ip }) => ip);
}
