import { formatIp, sameIp, type IpAddress } from "@antrea/ip";
import type { NodeSubnet } from "./node-subnet.ts";
import { OfPortNumbers } from "./of-ports.ts";
import { PodNetworkError } from "./errors.ts";
import {
    attachmentKey,
    type PodInterface,
    type PodInterfaces,
    type PodRecord,
    podText,
} from "../../platform/pod-interfaces/index.ts";

/**
 * The resources held by the interfaces in the table, i.e. port numbers and addresses of the Node's podCIDRs, and which
 * interfaces are being reconnected.
 */
export class KnownInterfaces {
    readonly ofPorts: OfPortNumbers = new OfPortNumbers();
    readonly #subnet: Pick<NodeSubnet, "release">;
    readonly #table: PodInterfaces;
    /** Keys of interfaces that are isolated by their record and are being reconnected. */
    readonly #connecting = new Set<string>();
    /** By key, the new number of a port while it is not confirmed that the flows in OVS use it. */
    readonly #unsettledOfPorts = new Map<string, number>();

    constructor(components: { readonly subnet: Pick<NodeSubnet, "release">; readonly podInterfaces: PodInterfaces }) {
        this.#subnet = components.subnet;
        this.#table = components.podInterfaces;
    }

    /** Records an interface in the table, and its port number as used. */
    note(record: PodRecord, ofPort: number, addedAt: number): void {
        this.ofPorts.note(ofPort);
        this.#table.put({ record, ofPort, addedAt });
    }

    /**
     * Marks an isolated interface as being reconnected, until `decided`. Throws PodNetworkError `ADDRESS_IN_USE` while
     * another interface of this Node may have traffic with one of its addresses: one that is not isolated, that is
     * being removed, or that is being reconnected too.
     */
    connecting(record: PodRecord): void {
        const key = attachmentKey(record);
        for (const { ip } of record.addresses) {
            const user = this.#table
                .list()
                .find((known) => attachmentKey(known.record) !== key && this.#mayUse(known.record, ip));
            if (user === undefined) continue;
            const text = `address ${formatIp(ip)} of ${describe(record)} is still in use by ${describe(user.record)}`;
            throw new PodNetworkError(
                "ADDRESS_IN_USE",
                "timeout",
                `${text}: it stays isolated until that one has gone`,
            );
        }
        this.#connecting.add(key);
    }

    /** Ends `connecting`: the interface is reconnected and its record updated, or its flows are removed again. */
    decided(record: PodRecord): void {
        this.#connecting.delete(attachmentKey(record));
    }

    #mayUse(record: PodRecord, ip: IpAddress): boolean {
        const isUser = record.isolated !== true || this.#connecting.has(attachmentKey(record));
        return isUser && record.addresses.some((address) => sameIp(address.ip, ip));
    }

    /** Keeps both numbers reserved: OVS uses the new one for the port even if the flows are not updated. */
    useUnsettled(record: PodRecord, knownOfPort: number, ofPort: number): void {
        const earlier = this.#unsettledOfPorts.get(attachmentKey(record));
        if (earlier !== undefined && earlier !== ofPort) this.ofPorts.release(earlier);
        this.#unsettledOfPorts.delete(attachmentKey(record));
        if (ofPort === knownOfPort) return;
        this.ofPorts.note(ofPort);
        this.#unsettledOfPorts.set(attachmentKey(record), ofPort);
    }

    /** The flows of an interface use the number of its port. */
    settle({ record, addedAt, ofPort: knownOfPort }: PodInterface, ofPort: number): void {
        this.#unsettledOfPorts.delete(attachmentKey(record));
        this.note(record, ofPort, addedAt);
        if (ofPort !== knownOfPort) this.ofPorts.release(knownOfPort);
    }

    /** The interface is completely removed: releases all its resources. */
    forget(known: PodInterface): void {
        const key = attachmentKey(known.record);
        this.freeAddresses(known.record);
        this.ofPorts.release(known.ofPort);
        const unsettled = this.#unsettledOfPorts.get(key);
        if (unsettled !== undefined) this.ofPorts.release(unsettled);
        this.#unsettledOfPorts.delete(key);
        this.#connecting.delete(key);
        this.#table.remove(known.record);
    }

    /** Releases the podCIDR addresses of a record. */
    freeAddresses(record: PodRecord): void {
        for (const { ip } of record.addresses) this.#subnet.release(ip, attachmentKey(record));
    }
}

function describe(record: PodRecord): string {
    return `interface ${record.ifName} of Pod ${podText(record)} (container ${record.containerId})`;
}
