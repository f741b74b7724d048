import { attachmentKey, type Attachment } from "./attachment.ts";
import type { NetworkRecord } from "./network-record.ts";
import type { ReleasePolicy } from "./table.ts";

/** A Pod's interface on a network other than the Pod network. Immutable: a change replaces the object in the table. */
export interface NetworkInterface {
    readonly record: NetworkRecord;
    /** Undefined unless its removal has begun and is not complete; then what it does with the allocations. */
    readonly leaving: ReleasePolicy | undefined;
    /** When the ADD that made it was answered, monotonic (ms): 0 before the start of this agent, Infinity until then. */
    readonly addedAt: number;
}

/** The table as used by everything except Pod wiring: read-only. */
export type NetworkInterfaceView = Pick<NetworkInterfaces, "list" | "get">;

/**
 * The interfaces of this Node's Pods on networks other than the Pod network, made by this agent. They come and go with the
 * interface on the Pod network of their container. Pod wiring writes the table, each interface under the lock of its
 * container; features read it. In memory only: wiring fills it at startup.
 */
export class NetworkInterfaces {
    readonly #entries = new Map<string, NetworkInterface>();
    /** The keys of each container's interfaces: a Node has thousands. */
    readonly #byContainer = new Map<string, Set<string>>();

    /** Every interface that is wired, being wired, or not removed completely yet. */
    list(): readonly NetworkInterface[] {
        return [...this.#entries.values()];
    }

    /** The interface of an attachment; undefined if there is none. */
    get(attachment: Attachment): NetworkInterface | undefined {
        return this.#entries.get(attachmentKey(attachment));
    }

    /** The interfaces of a container. */
    ofContainer(containerId: string): readonly NetworkInterface[] {
        const keys = this.#byContainer.get(containerId) ?? [];
        return [...keys].flatMap((key) => this.#entries.get(key) ?? []);
    }

    /** Adds an interface, or replaces its record; default of `addedAt`: what it was, or 0. */
    put(record: NetworkRecord, addedAt?: number): void {
        const known = this.get(record);
        const leaving = known?.leaving;
        const key = attachmentKey(record);
        this.#entries.set(key, { record, leaving, addedAt: addedAt ?? known?.addedAt ?? 0 });
        const keys = this.#byContainer.get(record.containerId);
        if (keys === undefined) this.#byContainer.set(record.containerId, new Set([key]));
        else keys.add(key);
    }

    /**
     * Marks an interface as being removed; a release that could not be completed remains a release. Returns the effective
     * value, of an unknown interface the given one.
     */
    leave(attachment: Attachment, allocations: ReleasePolicy): ReleasePolicy {
        const known = this.get(attachment);
        if (known === undefined) return allocations;
        const leaving = allocations === "release" ? allocations : (known.leaving ?? allocations);
        this.#entries.set(attachmentKey(attachment), { ...known, leaving });
        return leaving;
    }

    /** Removes an interface whose port is gone; no effect if it is unknown. */
    remove(attachment: Attachment): void {
        const key = attachmentKey(attachment);
        this.#entries.delete(key);
        const keys = this.#byContainer.get(attachment.containerId);
        keys?.delete(key);
        if (keys?.size === 0) this.#byContainer.delete(attachment.containerId);
    }
}
