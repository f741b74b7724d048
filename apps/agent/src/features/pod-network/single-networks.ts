import type { Clock } from "@antrea/async";
import { type Netlink } from "@antrea/netlink";
import type { Logger } from "@antrea/runtime";
import { deleteSoon } from "./delete-soon.ts";
import { CheckError, type CheckEnds } from "./check-ends.ts";
import { reportFailure } from "./ended-by-caller.ts";
import { PodNetworkError } from "./errors.ts";
import type { FurtherInterfaces } from "./further-interfaces.ts";
import type { Progress } from "./progress.ts";
import { kernelNamespaces, type PodNamespaces } from "./link.ts";
import { refuseOthersNamespace } from "./one-interface.ts";
import type { PodNetwork } from "./pod-network.ts";
import { Tombstones } from "./tombstones.ts";
import {
    attachmentKey,
    podText,
    type AddRequest,
    type Attachment,
    type NetworkCall,
    type NetworkRecord,
    type PlannedNetwork,
} from "../../platform/pod-interfaces/index.ts";

/** Dependencies of SingleNetworks. */
export interface SingleNetworksComponents {
    readonly network: Pick<PodNetwork, "adding" | "exclusively" | "find" | "hasContainer" | "progress">;
    readonly further: FurtherInterfaces;
    readonly netlink: Pick<Netlink, "link" | "netnsId">;
    /** The interface that a call asks for, checked; rejects with the error that ADD returns, which it records itself. */
    readonly plan: (call: NetworkCall, signal: AbortSignal) => Promise<PlannedNetwork>;
    /** CHECK of an interface; rejects with CheckError. */
    readonly check: (record: NetworkRecord, input: Omit<CheckEnds, "record">) => Promise<void>;
    /** Counts a failure, and records on the Pod why a network was not attached; never rejects. */
    readonly failed: (call: AddRequest, error: unknown) => Promise<void>;
    readonly clock: Clock;
    readonly logger: Logger;
    /** Default: the kernel's namespaces. */
    readonly namespaces?: PodNamespaces | undefined;
}

/**
 * Interfaces that a meta plugin asks for one by one, in containers whose interface on the Pod network is of this agent.
 * They end by their own DEL, and at the latest with the container.
 */
export class SingleNetworks {
    readonly #components: SingleNetworksComponents;
    readonly #tombstones: Tombstones;

    constructor(components: SingleNetworksComponents) {
        this.#components = components;
        this.#tombstones = new Tombstones(() => components.clock.monotonic());
    }

    /**
     * Makes the interface, or restores one that is there; all or nothing. Rejects with PodNetworkError `OTHERS_SANDBOX`,
     * `DELETED_MEANWHILE` or `SECOND_INTERFACE`, or with the error of a part.
     */
    add(call: NetworkCall, signal: AbortSignal): Promise<NetworkRecord> {
        return this.#components.network.adding(call, () => this.#add(call, signal), signal);
    }

    /** Records on the Pod why an ADD for it is refused before anything is planned. */
    refused(request: AddRequest, error: unknown): void {
        void this.#components.failed(request, error);
    }

    /** CHECK of an interface; rejects with CheckError, also if there is no such interface. */
    async check({ netns, previous, ...attachment }: Attachment & Omit<CheckEnds, "record">): Promise<void> {
        const known = this.#components.further.get(attachment);
        if (known !== undefined) return this.#components.check(known.record, { netns, previous });
        const { containerId, ifName } = attachment;
        throw new CheckError(
            "INTERFACE",
            "environment",
            `container ${containerId} has no interface ${ifName} on this Node`,
        );
    }

    /**
     * Removes an interface, if it is there: waits 5 s for other work on the container and 5 s for OVS; the rest is logged
     * and left to the reconcile. Refuses an ADD of the interface in progress, or requested before.
     */
    async delete(attachment: Attachment): Promise<void> {
        const { clock, further, logger, network } = this.#components;
        const { containerId, ifName } = attachment;
        // Of the Pod network: it ends with the container.
        if (this.#isOfPodNetwork(attachment)) return;
        this.#tombstones.add(attachmentKey(attachment));
        await deleteSoon(clock, {
            run: (limit, begin) => network.exclusively(containerId, begin, limit),
            work: () => further.remove(containerId, "release", ifName),
            leave: (reason) => {
                further.leave(attachment);
                logger.warn("unwiring of a further interface is left to the reconcile", {
                    container: containerId,
                    interface: ifName,
                    reason,
                });
            },
        });
    }

    /**
     * Removes the interfaces of a network that a meta plugin asked for, that are not in the list and whose ADD was answered
     * before `receivedAt` (monotonic, ms); their number.
     */
    async collect(network: string, valid: readonly Attachment[], receivedAt: number): Promise<number> {
        const keep = new Set(valid.map(attachmentKey));
        // Those of an annotation are in no list of a meta plugin, and those recorded before `attachedBy` was may be such ones: the
        // interface of a running Pod must not go. What a meta plugin left of the latter ends with its DEL or its container.
        const garbage = this.#components.further
            .list()
            .filter(({ record }) => record.attachedBy === "meta-plugin")
            .filter(({ record, addedAt }) => record.network.endsWith(`/${network}`) && addedAt < receivedAt)
            .filter(({ record }) => !keep.has(attachmentKey(record)));
        await Promise.all(garbage.map(({ record }) => this.delete(record)));
        return garbage.length;
    }

    async #add(call: NetworkCall, signal: AbortSignal): Promise<NetworkRecord> {
        const { further, plan } = this.#components;
        const progress = this.#progress(call, signal);
        const hadOne = further.get(call) !== undefined;
        try {
            const present = await this.#reported(call, progress, () => this.#present(call, signal));
            const planned = await plan(call, signal);
            return await this.#reported(call, progress, () =>
                present === undefined ? this.#make(call, planned, signal) : this.#configured(present, planned),
            );
        } catch (error) {
            // No other ADD of it may follow, and while the container lives nothing else would free its addresses.
            if (hadOne) await further.failedAdds.giveUp([call]);
            throw error;
        }
    }

    /** Runs a part of an ADD, whose failure is recorded on the Pod. */
    async #reported<T>(call: NetworkCall, progress: Progress, work: () => Promise<T>): Promise<T> {
        try {
            return await work();
        } catch (error) {
            reportFailure(call, error, progress, this.#components.failed);
            throw error;
        }
    }

    /** The interface, restored, of an ADD that is repeated; undefined if it is to be made. */
    async #present(call: NetworkCall, signal: AbortSignal): Promise<NetworkRecord | undefined> {
        const { further, netlink, namespaces = kernelNamespaces } = this.#components;
        const { containerId, ifName } = call;
        this.#progress(call, signal).checkpoint();
        this.#refuseOthersSandbox(call);
        if (this.#isOfPodNetwork(call)) throw taken(call, "the Pod network");
        const known = further.get(call);
        if (known !== undefined) {
            if (known.leaving === undefined && (await further.isThere(known.record))) {
                if (known.record.network !== call.asked.network)
                    throw taken(call, `network ${known.record.network || "of another name"}`);
                await further.restore(containerId, signal);
                return known.record;
            }
            await further.removeOlder(containerId, "keep", call, ifName);
        }
        await refuseOthersNamespace(call, netlink, namespaces);
        return undefined;
    }

    /** An agent may have been killed before it had configured the interface. */
    async #configured(record: NetworkRecord, planned: PlannedNetwork): Promise<NetworkRecord> {
        await this.#components.further.configure(record, planned);
        await this.#moveDefaultRoutes(record.containerId);
        return record;
    }

    async #make(call: NetworkCall, planned: PlannedNetwork, signal: AbortSignal): Promise<NetworkRecord> {
        const { further, network } = this.#components;
        const { containerId, ifName } = call;
        for (const older of further.olderContainers(call, ifName)) {
            // Two sandboxes of a Pod never have one address.
            await network.exclusively(older, () => further.removeOlder(older, "keep", call, ifName), signal);
        }
        try {
            await further.add([{ ...planned, attachedBy: "meta-plugin" }], call, this.#progress(call, signal));
            await this.#moveDefaultRoutes(containerId);
            this.#logTakenDefault(call);
        } catch (error) {
            // All or nothing, as all networks of a Pod together.
            if (further.get(call) !== undefined) await further.remove(containerId, "release", ifName);
            throw error;
        }
        const added = further.get(call);
        if (added !== undefined) return added.record;
        throw new PodNetworkError(
            "LINK_VANISHED",
            "environment",
            `network ${call.asked.network}: interface ${ifName} of Pod ${podText(call)} was removed while it was made; next: wait, as the kubelet tries again`,
        );
    }

    async #moveDefaultRoutes(containerId: string): Promise<void> {
        const { further, network } = this.#components;
        const own = network.find(containerId, "eth0");
        if (own !== undefined) await further.moveDefaultRoutes(own.record);
    }

    /** Of the annotation a second default route is refused; a meta plugin's call is for one network, and the last one has it. */
    #logTakenDefault(call: NetworkCall): void {
        const { further, logger } = this.#components;
        const own = further.get(call)?.record;
        const earlier = further
            .ofContainer(call.containerId)
            .flatMap(({ record, leaving }) => (leaving === undefined && record.ifName !== call.ifName ? [record] : []));
        const taken = (own?.defaultGateways ?? []).flatMap(({ family }) => {
            const from = earlier.findLast(({ defaultGateways }) =>
                defaultGateways.some((one) => one.family === family),
            );
            return from === undefined ? [] : [{ family, from: from.network }];
        });
        if (own === undefined || taken.length === 0) return;
        logger.info("the default route of a Pod leads to another network now", {
            pod: podText(call),
            container: call.containerId,
            families: taken.map(({ family }) => family),
            from: [...new Set(taken.map(({ from }) => from))],
            to: own.network,
        });
    }

    #progress(call: NetworkCall, signal: AbortSignal): Progress {
        const { checkpoint, isDeleted } = this.#components.network.progress(call, signal);
        const isOwnDeleted = (): boolean => this.#tombstones.hasSince(attachmentKey(call), call.receivedAt);
        return {
            signal,
            isDeleted: () => isDeleted() || isOwnDeleted(),
            checkpoint: () => {
                checkpoint();
                if (!isOwnDeleted()) return;
                throw new PodNetworkError(
                    "DELETED_MEANWHILE",
                    "caller",
                    `interface ${call.ifName} of container ${call.containerId} was deleted after this ADD was asked for`,
                );
            },
        };
    }

    #isOfPodNetwork({ containerId, ifName }: Attachment): boolean {
        return ifName === "lo" || this.#components.network.find(containerId, ifName) !== undefined;
    }

    /** Its interface on the Pod network shows how long the container lives. */
    #refuseOthersSandbox(call: NetworkCall): void {
        if (this.#components.network.hasContainer(call.containerId)) return;
        throw new PodNetworkError(
            "OTHERS_SANDBOX",
            "caller",
            `network ${call.asked.network}: container ${call.containerId} of Pod ${podText(call)} has no interface on the Pod network of antrea, and only such containers get further interfaces; next: let antrea be the network of the cluster, which the runtime or the meta plugin attaches first`,
        );
    }
}

function taken({ asked, containerId, ifName }: NetworkCall, by: string): PodNetworkError {
    return new PodNetworkError(
        "SECOND_INTERFACE",
        "caller",
        `network ${asked.network}: container ${containerId} has interface ${ifName} of ${by} already; next: request another interface name in the Pod's annotation k8s.v1.cni.cncf.io/networks, or DEL ${ifName} first`,
    );
}
