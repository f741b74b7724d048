import { systemClock, type Clock, settleAll } from "@antrea/async";
import { messageOf } from "@antrea/errors";
import { podFlows, type FlowSet, type PodInput } from "@antrea/flows";
import { formatIp, parseMac, prefixOf } from "@antrea/ip";
import type { Progress } from "./progress.ts";
import { PodNetworkError } from "./errors.ts";
import { Limit } from "./limit.ts";
import {
    adjustPodLink,
    adjustPodNeighbours,
    completePodLink,
    configurePodEnd,
    createPodLink,
    preparePodEnd,
    raisePodLink,
    type PodEndOptions,
} from "./link.ts";
import type { OfPortNumbers } from "./of-ports.ts";
import { flowOwner, portSpec, type PodDraft } from "./parts.ts";
import type { PodNetworkComponents, PodNetworkOptions } from "./types.ts";
import {
    attachmentKey,
    bridgedPod,
    isPoolRecord,
    type PodInterface,
    type PodRecord,
    podText,
    unfinishedExternalIds,
} from "../../platform/pod-interfaces/index.ts";

/** On the userspace datapath adding a port takes about 13 ms; on a loaded Node it has been observed to take seconds. */
const ofPortTimeoutMs = 20_000;
/** How long other work on a wired interface waits for OVS while it holds the lock of its container. */
const rewireLimitMs = 20_000;

/** Dependencies of InterfaceWiring. */
export interface InterfaceWiringComponents extends PodNetworkComponents {
    readonly ofPorts: OfPortNumbers;
}

/**
 * Creates the parts of one interface: link, port with the record, Pod end, flows, routes; all but `stage` under the
 * container's lock. Methods reject with the error of the part that failed and undo nothing then: the caller rolls back
 * or retries. Only `reconnect` removes the traffic again.
 */
export class InterfaceWiring {
    readonly #components: InterfaceWiringComponents;
    readonly #options: PodNetworkOptions;
    readonly #ofPorts: OfPortNumbers;
    readonly #clock: Clock;

    constructor(components: InterfaceWiringComponents, options: PodNetworkOptions) {
        this.#components = components;
        this.#options = options;
        this.#ofPorts = components.ofPorts;
        this.#clock = components.clock ?? systemClock;
    }

    /** Stages the flows of an interface wired already; the next replay sends them. */
    stage(record: PodRecord, ofPort: number): void {
        this.#components.flowTable.stage(flowOwner(record), this.#flows(record, ofPort));
        if (isPoolRecord(record)) this.#components.bridging?.stage(bridgedPod(record, ofPort));
    }

    /**
     * Creates link and port of a draft while its addresses are being allocated. The port is marked as unfinished, so
     * that a restarted agent drops it.
     */
    async prepare(draft: PodDraft, ofPort: number, { signal, checkpoint }: Progress): Promise<void> {
        await createPodLink(this.#components.netlink, draft, this.#options);
        checkpoint();
        const externalIds = unfinishedExternalIds(draft);
        await this.#components.ports.ensurePort(
            { name: draft.hostIfName, type: "", ofPortRequest: ofPort, externalIds },
            signal,
        );
        preparePodEnd(draft, this.#options);
    }

    /**
     * Creates record, Pod end and flows, in this order of visibility to others; the link exists already. Puts the
     * interface into the table, with the number by which OVS has opened its port if that is not `ofPort`. Rejects if
     * OVS does not open the port within 20 s.
     */
    async wire(record: PodRecord, ofPort: number, { signal, checkpoint }: Progress): Promise<void> {
        await settleAll([
            this.#components.ports.ensurePort(portSpec(record, ofPort), signal),
            this.configurePodEnd(record),
        ]);
        checkpoint();
        const [actual] = await settleAll([
            this.#openedPort(record, signal),
            this.#wireFlows(record, ofPort, signal),
            this.#components.hostRoutes.add(record),
        ]);
        if (actual !== ofPort) {
            await this.#wireFlows(record, actual, signal);
            this.#ofPorts.release(ofPort);
        }
        checkpoint();
    }

    /** Configures the Pod end of the link inside the Pod's network namespace; rejects as the function of this name. */
    configurePodEnd(record: PodRecord): Promise<void> {
        return configurePodEnd(record, this.#linkOptions);
    }

    /**
     * Calls `restore` with a limit of 20 s; then rejects with PodNetworkError `TOO_SLOW`. Rejects with the `ABORTED`
     * error of the part that waited if the signal aborts.
     */
    async restoreSoon(known: PodInterface, signal: AbortSignal | undefined): Promise<void> {
        using limit = new Limit(this.#clock, rewireLimitMs, "restoring the interface", signal);
        await limit.run((limited) => this.restore(known, limited));
    }

    /**
     * Restores everything that OVS and the Node have of a known interface: of an isolated one no flows and routes.
     * Idempotent. A link that cannot be updated is only logged.
     */
    async restore(known: PodInterface, signal: AbortSignal): Promise<void> {
        await this.#restore(known, known.record.isolated !== true, signal);
    }

    /** See `InterfaceControl`. */
    async isolate(known: PodInterface): Promise<void> {
        const record = { ...known.record, isolated: true };
        this.#components.podInterfaces.put({ ...known, record });
        using limit = new Limit(this.#clock, rewireLimitMs, "isolating the interface");
        await limit.run((signal) =>
            settleAll([...this.#withoutTraffic(record, signal), this.#writeRecord(record, known.ofPort, signal)]),
        );
        this.#components.podInterfaces.setConnecting(record, false);
    }

    /** See `InterfaceControl`. */
    async reconnect(known: PodInterface): Promise<void> {
        this.#beginConnecting(known.record);
        using limit = new Limit(this.#clock, rewireLimitMs, "reconnecting the interface");
        await limit.run(async (signal) => {
            try {
                await this.#restore(known, true, signal);
                const current = this.#components.podInterfaces.get(known.record) ?? known;
                const { isolated: _, ...record } = current.record;
                await this.#writeRecord(record, current.ofPort, signal);
                this.#components.podInterfaces.put({ ...current, record });
            } catch (error) {
                await this.#endTraffic(known.record, signal);
                throw error;
            }
        });
    }

    /**
     * Marks the interface as being reconnected. Throws PodNetworkError `ADDRESS_IN_USE` while another interface of this
     * Node may have traffic with one of its addresses. Check and mark are one step: of two that are reconnected at the
     * same time with one address, the second is refused.
     */
    #beginConnecting(record: PodRecord): void {
        const { podInterfaces } = this.#components;
        for (const { ip } of record.addresses) {
            const user = podInterfaces.otherUser(record, ip);
            if (user === undefined) continue;
            const text = `address ${formatIp(ip)} of ${describe(record)} is still in use by ${describe(user.record)}`;
            throw new PodNetworkError(
                "ADDRESS_IN_USE",
                "timeout",
                `${text}: it stays isolated until that one has gone`,
            );
        }
        podInterfaces.setConnecting(record, true);
    }

    #withoutTraffic(record: PodRecord, signal: AbortSignal): readonly Promise<void>[] {
        const { flowTable, bridging, hostRoutes, podInterfaces } = this.#components;
        return [
            flowTable.remove(flowOwner(record), signal),
            bridging?.remove(attachmentKey(record), signal) ?? Promise.resolve(),
            hostRoutes.remove(record, (ip) => podInterfaces.isReachedElsewhere(record, ip)),
        ];
    }

    /**
     * Removes the traffic of an isolated interface whose reconnection failed. Until this succeeds, the interface
     * conflicts with others that have its address. After a timeout the signal has aborted: OVS is not waited for once
     * more, as the container is locked; the next reconcile repeats it.
     */
    async #endTraffic(record: PodRecord, signal: AbortSignal): Promise<void> {
        try {
            await settleAll(this.#withoutTraffic(record, signal));
            this.#components.podInterfaces.setConnecting(record, false);
        } catch (error) {
            this.#components.logger.warn("the flows of an isolated Pod interface cannot be removed now", {
                pod: podText(record),
                reason: messageOf(error),
            });
        }
    }

    async #restore(known: PodInterface, isConnected: boolean, signal: AbortSignal): Promise<void> {
        const { record } = known;
        await this.#adjustLink(record);
        await this.#components.ports.ensurePort(portSpec(record, known.ofPort), signal);
        const ofPort = await this.#openedPort(record, signal);
        // With the port number of its flows: a reconcile that finds another number in OVS repeats this.
        this.#note(known);
        this.#ofPorts.useUnsettled(attachmentKey(record), known.ofPort, ofPort);
        if (isConnected) {
            await this.#setFlows(record, ofPort, signal);
            await this.#components.hostRoutes.add(record);
        }
        this.#ofPorts.settle(attachmentKey(record), known.ofPort, ofPort);
        this.#note({ ...known, ofPort });
    }

    /**
     * Writes the record where the agent finds it after a restart: to OVSDB, and to the link alias in case the database
     * is lost.
     */
    async #writeRecord(record: PodRecord, ofPort: number, signal: AbortSignal): Promise<void> {
        await settleAll([
            this.#components.ports.ensurePort(portSpec(record, ofPort), signal),
            completePodLink(this.#components.netlink, record),
        ]);
    }

    /** A namespace that is gone or unknown does not prevent the interface from being restored. */
    async #adjustLink(record: PodRecord): Promise<void> {
        const { netlink, logger } = this.#components;
        try {
            await adjustPodLink(netlink, record, this.#options);
            if (isPoolRecord(record)) await adjustPodNeighbours(record, this.#linkOptions);
        } catch (error) {
            logger.warn("link of a Pod cannot be updated", { pod: podText(record), reason: messageOf(error) });
        }
    }

    /** The OpenFlow port number, once OVS has opened the link. */
    async #openedPort(record: PodRecord, signal: AbortSignal): Promise<number> {
        const ofPort = await this.#components.ports.ofPort(record.hostIfName, ofPortTimeoutMs, signal);
        await raisePodLink(this.#components.netlink, record);
        return ofPort;
    }

    #note(known: PodInterface): void {
        this.#ofPorts.note(known.ofPort);
        this.#components.podInterfaces.put(known);
    }

    async #wireFlows(record: PodRecord, ofPort: number, signal: AbortSignal): Promise<void> {
        this.#note({ record, ofPort, addedAt: Infinity });
        await this.#setFlows(record, ofPort, signal);
    }

    async #setFlows(record: PodRecord, ofPort: number, signal: AbortSignal): Promise<void> {
        await settleAll([
            // A repeated ADD also restores flows of the Pod that another program changed.
            this.#components.flowTable.set(flowOwner(record), this.#flows(record, ofPort), signal, { whole: true }),
            this.#bridge(record, ofPort, signal),
        ]);
    }

    async #bridge(record: PodRecord, ofPort: number, signal: AbortSignal): Promise<void> {
        if (isPoolRecord(record)) await this.#components.bridging?.add(bridgedPod(record, ofPort), signal);
    }

    get #linkOptions(): PodEndOptions {
        const { mtu, disableTxChecksumOffload, gatewayMac, namespaces } = this.#options;
        return {
            mtu,
            disableTxChecksumOffload,
            gatewayMac,
            namespaces,
            bridged: this.#components.bridging !== undefined,
        };
    }

    #flows(record: PodRecord, ofPort: number): FlowSet {
        return podFlows(this.#components.next, {
            ofPort,
            mac: parseMac(record.mac),
            ips: record.addresses.map((address) => address.ip),
            gatewayMac: this.#options.gatewayMac(),
            services: this.#options.servesServices === true,
            ...this.#poolPart(record),
        });
    }

    #poolPart(record: PodRecord): Pick<PodInput, "bridged" | "foreignSubnet"> {
        if (!isPoolRecord(record)) return {};
        const { bridging } = this.#components;
        if (bridging === undefined) return { foreignSubnet: true };
        const subnets = record.addresses.map(({ ip, prefixLength }) => prefixOf(ip, prefixLength));
        return { bridged: { vlan: record.vlan, hostMac: bridging.hostMac, subnets } };
    }
}

function describe(record: PodRecord): string {
    return `interface ${record.ifName} of Pod ${podText(record)} (container ${record.containerId})`;
}
