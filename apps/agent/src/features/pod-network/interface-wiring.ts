import { systemClock, type Clock, settleAll } from "@antrea/async";
import { messageOf } from "@antrea/errors";
import { podFlows, type FlowSet, type PodInput } from "@antrea/flows";
import { parseMac } from "@antrea/ip";
import type { KnownInterfaces } from "./known-interfaces.ts";
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

/** On the userspace datapath a port takes about 13 ms; a loaded Node has been seen to need seconds. */
const ofPortTimeoutMs = 20_000;
/** How long other work on a wired interface waits for OVS, and holds the lock of its container meanwhile. */
const rewireLimitMs = 20_000;

/** One ADD, as far as its steps are concerned. */
export interface Progress {
    readonly signal: AbortSignal;
    /** Throws when the ADD must not go on. */
    readonly checkpoint: () => void;
}

export interface InterfaceWiringComponents extends PodNetworkComponents {
    readonly known: KnownInterfaces;
}

/** Puts the parts of one interface in place: link, port with the record, Pod end, flows, routes. */
export class InterfaceWiring {
    readonly #components: InterfaceWiringComponents;
    readonly #options: PodNetworkOptions;
    readonly #known: KnownInterfaces;
    readonly #clock: Clock;

    constructor(components: InterfaceWiringComponents, options: PodNetworkOptions) {
        this.#components = components;
        this.#options = options;
        this.#known = components.known;
        this.#clock = components.clock ?? systemClock;
    }

    /** The flows come with the next replay. */
    stage(record: PodRecord, ofPort: number): void {
        this.#components.flowTable.stage(flowOwner(record), this.#flows(record, ofPort));
        if (isPoolRecord(record)) this.#components.bridging?.stage(bridgedPod(record, ofPort));
    }

    /** Makes link and port of a draft, whose addresses are being claimed meanwhile. */
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

    /** Record, Pod end, flows, in this order of what others see. */
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
            this.#known.ofPorts.release(ofPort);
        }
        checkpoint();
    }

    configurePodEnd(record: PodRecord): Promise<void> {
        return configurePodEnd(record, this.#linkOptions);
    }

    /** Puts all that OVS and the Node have of a known interface in place again, within 20 s. */
    async restoreSoon(known: PodInterface, signal: AbortSignal | undefined): Promise<void> {
        using limit = new Limit(this.#clock, rewireLimitMs, "restoring the interface", signal);
        await this.restore(known, limit.signal);
    }

    async restore(known: PodInterface, signal: AbortSignal): Promise<void> {
        await this.#restore(known, known.record.isolated !== true, signal);
    }

    /** See `InterfaceControl`. */
    async isolate(known: PodInterface): Promise<void> {
        const record = { ...known.record, isolated: true };
        this.#components.podInterfaces.put({ ...known, record });
        using limit = new Limit(this.#clock, rewireLimitMs, "isolating the interface");
        await settleAll([
            ...this.#withoutTraffic(record, limit.signal),
            this.#writeRecord(record, known.ofPort, limit.signal),
        ]);
        this.#known.decided(record);
    }

    /** See `InterfaceControl`. */
    async reconnect(known: PodInterface): Promise<void> {
        this.#known.connecting(known.record);
        using limit = new Limit(this.#clock, rewireLimitMs, "reconnecting the interface");
        try {
            await this.#restore(known, true, limit.signal);
            const current = this.#components.podInterfaces.get(known.record) ?? known;
            const { isolated: _, ...record } = current.record;
            await this.#writeRecord(record, current.ofPort, limit.signal);
            this.#components.podInterfaces.put({ ...current, record });
        } catch (error) {
            await this.#endTraffic(known.record, limit.signal);
            throw error;
        }
        this.#known.decided(known.record);
    }

    #withoutTraffic(record: PodRecord, signal: AbortSignal): readonly Promise<void>[] {
        const { flowTable, bridging, hostRoutes } = this.#components;
        return [
            flowTable.remove(flowOwner(record), signal),
            bridging?.remove(attachmentKey(record), signal) ?? Promise.resolve(),
            hostRoutes.remove(record, (ip) => this.#components.podInterfaces.isConnected(ip)),
        ];
    }

    /** Of an isolated interface that was connected half way. While that fails it is in the way of others with its address. */
    async #endTraffic(record: PodRecord, signal: AbortSignal): Promise<void> {
        try {
            await settleAll(this.#withoutTraffic(record, signal));
            this.#known.decided(record);
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
        // With the number that its flows have: a reconcile that sees another in OVS does this again.
        this.#known.note(record, known.ofPort, known.addedAt);
        this.#known.useUnsettled(record, known.ofPort, ofPort);
        if (isConnected) {
            await this.#setFlows(record, ofPort, signal);
            await this.#components.hostRoutes.add(record);
        }
        this.#known.settle(known, ofPort);
    }

    /** The record where an agent that starts again finds it: in OVSDB, and in the link for when the database is lost. */
    async #writeRecord(record: PodRecord, ofPort: number, signal: AbortSignal): Promise<void> {
        await settleAll([
            this.#components.ports.ensurePort(portSpec(record, ofPort), signal),
            completePodLink(this.#components.netlink, record),
        ]);
    }

    /** A namespace that just ended, or was never known, keeps no interface from being restored. */
    async #adjustLink(record: PodRecord): Promise<void> {
        const { netlink, logger } = this.#components;
        try {
            await adjustPodLink(netlink, record, this.#options);
            if (isPoolRecord(record)) await adjustPodNeighbours(record, this.#linkOptions);
        } catch (error) {
            logger.warn("link of a Pod cannot be updated", { pod: podText(record), reason: messageOf(error) });
        }
    }

    /** The number of the port, once OVS has opened its link. */
    async #openedPort(record: PodRecord, signal: AbortSignal): Promise<number> {
        const ofPort = await this.#components.ports.ofPort(record.hostIfName, ofPortTimeoutMs, signal);
        await raisePodLink(this.#components.netlink, record);
        return ofPort;
    }

    async #wireFlows(record: PodRecord, ofPort: number, signal: AbortSignal): Promise<void> {
        this.#known.note(record, ofPort, Infinity);
        await this.#setFlows(record, ofPort, signal);
    }

    async #setFlows(record: PodRecord, ofPort: number, signal: AbortSignal): Promise<void> {
        await settleAll([
            // A repeated ADD puts right what another program has done to the Pod's flows.
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
            ...this.#poolPart(record),
        });
    }

    #poolPart(record: PodRecord): Pick<PodInput, "bridged" | "foreignSubnet"> {
        if (!isPoolRecord(record)) return {};
        const { bridging } = this.#components;
        return bridging === undefined
            ? { foreignSubnet: true }
            : { bridged: { vlan: record.vlan, hostMac: bridging.hostMac } };
    }
}
