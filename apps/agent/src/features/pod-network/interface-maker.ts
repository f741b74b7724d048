import { settleAll } from "@antrea/async";
import { attachmentKey, type AddressRequest, type PodRecord } from "../../platform/pod-interfaces/index.ts";
import type { InterfaceWiring } from "./interface-wiring.ts";
import { completePodLink, createPodLink } from "./link.ts";
import { refuseLost } from "./lost-allocations.ts";
import { heldOwner } from "./node-subnet.ts";
import type { OfPortNumbers } from "./of-ports.ts";
import { recordOf, type PodDraft } from "./parts.ts";
import type { Progress } from "./progress.ts";
import type { PodNetworkComponents, PodNetworkOptions } from "./types.ts";
import type { Unwiring } from "./unwiring.ts";

/** Dependencies of InterfaceMaker. */
export interface InterfaceMakerComponents extends Pick<PodNetworkComponents, "netlink" | "pools" | "subnet"> {
    readonly ofPorts: OfPortNumbers;
    readonly wiring: Pick<InterfaceWiring, "prepare" | "wire">;
    readonly unwiring: Pick<Unwiring, "rollBack" | "undoDraft">;
}

/**
 * Makes new interfaces on the Pod network, from the link to the flows, while the caller holds the lock of the container.
 * Rejects with the error of the part that failed, or as `progress` does; by then everything is rolled back, or left to
 * the reconcile where OVS or the kernel could not remove it.
 */
export class InterfaceMaker {
    readonly #components: InterfaceMakerComponents;
    readonly #options: PodNetworkOptions;

    constructor(components: InterfaceMakerComponents, options: PodNetworkOptions) {
        this.#components = components;
        this.#options = options;
    }

    /** With addresses of the Node's subnet. */
    async fromSubnet(draft: PodDraft, progress: Progress): Promise<PodRecord> {
        const { netlink, ofPorts, subnet, unwiring, wiring } = this.#components;
        const { podUid } = draft;
        // After a reboot the API server still reports the earlier addresses of Pods; they are held for these Pods.
        const heldBy = podUid === "" ? undefined : heldOwner(podUid);
        const addresses = subnet.allocate(attachmentKey(draft), heldBy);
        const record = recordOf(draft, { addresses, vlan: 0 });
        const ofPort = this.#takeOfPort(record);
        try {
            await createPodLink(netlink, record, this.#options);
        } catch (error) {
            // Nothing was wired: an existing link or port of that name has another owner.
            ofPorts.release(ofPort);
            subnet.releaseAll(addresses, attachmentKey(record));
            throw error;
        }
        try {
            progress.checkpoint();
            await wiring.wire(record, ofPort, progress);
            // From here on a check of new allocations finds the interface.
            subnet.refuseTaken(addresses);
        } catch (error) {
            await unwiring.rollBack(record, ofPort);
            throw error;
        }
        return record;
    }

    /** Allocates the addresses from pools and creates link and port in parallel: only their configuration waits. */
    async fromPools(draft: PodDraft, wanted: AddressRequest, progress: Progress): Promise<PodRecord> {
        const { netlink, ofPorts, pools, unwiring, wiring } = this.#components;
        const ofPort = ofPorts.take();
        let record: PodRecord | undefined;
        try {
            const [allocation] = await settleAll([
                wanted.claim(progress.signal),
                wiring.prepare(draft, ofPort, progress),
            ]);
            record = recordOf(draft, allocation);
            progress.checkpoint();
            await wiring.wire(record, ofPort, progress);
            await completePodLink(netlink, record);
            refuseLost(pools, record);
        } catch (error) {
            if (record === undefined) await unwiring.undoDraft(draft, ofPort);
            else await unwiring.rollBack(record, ofPort);
            throw error;
        }
        return record;
    }

    /** Allocates the port number to request from OVS; on failure releases the addresses of the record. */
    #takeOfPort(record: PodRecord): number {
        try {
            return this.#components.ofPorts.take();
        } catch (error) {
            this.#components.subnet.releaseAll(record.addresses, attachmentKey(record));
            throw error;
        }
    }
}
