import type { CniRoute } from "@antrea/cni";
import { AntreaError, messageOf } from "@antrea/errors";
import { formatIp } from "@antrea/ip";
import type { Logger } from "@antrea/runtime";
import {
    podText,
    type FunctionDevice,
    type NetworkInterfaces,
    type NetworkRecord,
    type PodInterface,
    type PodInterfaces,
} from "../../platform/pod-interfaces/index.ts";
import { PodNetworkError } from "./errors.ts";
import { kernelNamespaces, type PodLinkOptions } from "./link.ts";
import { configureNetworkEnd, prepareNetworkEnd } from "./network-end.ts";
import type { Progress } from "./progress.ts";

/** A record of a virtual function. */
export type FunctionRecord = NetworkRecord & { readonly device: FunctionDevice };

/** The links of virtual functions; errors name network, rule and next step. */
export interface FunctionLinks {
    /** Moves the link into the Pod, with name and MTU of the record; no effect if the Pod has it already. */
    take(record: FunctionRecord): Promise<void>;
    /** Makes the link the Node's again, as it was; succeeds if neither Pod nor Node has it. Rejects with NetlinkError. */
    bringHome(record: FunctionRecord): Promise<void>;
}

/** Dependencies of FunctionWiring. */
export interface FunctionWiringComponents {
    readonly table: Pick<NetworkInterfaces, "ofContainer">;
    readonly podInterfaces: Pick<PodInterfaces, "isLeaving" | "list" | "put">;
    /** Writes the record of an interface on the Pod network to OVSDB; rejects with OvsdbError. */
    readonly writeRecord: (known: PodInterface, signal: AbortSignal) => Promise<void>;
    readonly links: FunctionLinks;
    readonly logger: Logger;
}

/** Settings of FunctionWiring. */
export type FunctionWiringOptions = Pick<PodLinkOptions, "namespaces">;

/**
 * Virtual functions as interfaces of Pods. They have no port: the record of the container's interface on the Pod network
 * has theirs. Methods are called under the lock of the container.
 */
export class FunctionWiring {
    readonly #components: FunctionWiringComponents;
    readonly #options: FunctionWiringOptions;

    constructor(components: FunctionWiringComponents, options: FunctionWiringOptions) {
        this.#components = components;
        this.#options = options;
    }

    /**
     * Records the functions, which are in the table, then moves and configures each. Rejects with PodNetworkError
     * `FUNCTION_NOT_TAKEN` or that of `configureNetworkEnd`, with OvsdbError or NetlinkError; undoes nothing then.
     *
     * @param routes of each record, in their order
     */
    async wire(
        records: readonly FunctionRecord[],
        routes: readonly (readonly CniRoute[])[],
        { checkpoint, signal }: Progress,
    ): Promise<void> {
        const [first] = records;
        if (first === undefined) return;
        // Before the first one moves: an agent that is killed then knows them again.
        await this.store(first.containerId, signal);
        for (const [index, record] of records.entries()) {
            checkpoint();
            await this.#take(record);
            await this.configure(record, routes[index] ?? []);
            this.#components.logger.info("further Pod interface added", {
                pod: podText(record),
                container: record.containerId,
                network: record.network,
                interface: record.ifName,
                device: record.device.id,
                addresses: record.addresses.map(({ ip }) => formatIp(ip)),
            });
        }
    }

    /** Configures a function that is in its Pod. Idempotent; rejects as `configureNetworkEnd`. */
    async configure(record: FunctionRecord, routes: readonly CniRoute[]): Promise<void> {
        const options = this.#linkOptions(record);
        prepareNetworkEnd(record, record.addresses.length > 0, options);
        await configureNetworkEnd(record, routes, options);
    }

    /** Brings functions home. Never rejects: false if one may still be in its Pod, which is logged. */
    async bringHome(records: readonly FunctionRecord[]): Promise<boolean> {
        let isDone = true;
        for (const record of records) {
            try {
                await this.#components.links.bringHome(record);
            } catch (error) {
                isDone = false;
                this.#components.logger.warn("virtual function not yet returned to the Node", {
                    pod: podText(record),
                    container: record.containerId,
                    device: record.device.id,
                    reason: messageOf(error),
                });
            }
        }
        return isDone;
    }

    /** Sets the link of a function that is isolated down, else up. Rejects with NetlinkError. */
    async setUp({ ifName, isolated, netns }: FunctionRecord): Promise<void> {
        const { namespaces = kernelNamespaces } = this.#options;
        using pod = namespaces.openIn(netns);
        const link = await pod.link(ifName);
        if (link !== undefined) await pod.setLink(link.index, { up: isolated !== true });
    }

    /**
     * Writes the functions of a container that the table has, without those being removed, into the record of its interface on
     * the Pod network; no effect if that is being removed. Rejects with OvsdbError.
     */
    async store(containerId: string, signal: AbortSignal): Promise<void> {
        const { podInterfaces, table, writeRecord } = this.#components;
        const own = podInterfaces
            .list()
            .find(({ record }) => record.containerId === containerId && !podInterfaces.isLeaving(record));
        if (own === undefined) return;
        const functions = table
            .ofContainer(containerId)
            .flatMap(({ record, leaving }) => (isFunction(record) && leaving === undefined ? [record] : []));
        const record = { ...own.record, functions: functions.length === 0 ? undefined : functions };
        const known = { ...own, record };
        podInterfaces.put(known);
        await writeRecord(known, signal);
    }

    async #take(record: FunctionRecord): Promise<void> {
        try {
            await this.#components.links.take(record);
        } catch (cause) {
            if (!(cause instanceof AntreaError)) throw cause;
            throw new PodNetworkError("FUNCTION_NOT_TAKEN", cause.fault, cause.message, { cause });
        }
    }

    /** The NIC completes checksums. */
    #linkOptions({ mtu }: FunctionRecord): PodLinkOptions {
        return { ...this.#options, mtu, disableTxChecksumOffload: false };
    }
}

/** Whether the record is that of a virtual function. */
export function isFunction(record: NetworkRecord): record is FunctionRecord {
    return record.device !== undefined;
}
