import { type IpAllocation } from "@antrea/crd";
import { formatIp, type IpAddress } from "@antrea/ip";
import { type Logger } from "@antrea/runtime";
import { type WiredInterface, type Wiring } from "./claim-reconciler.ts";
import { holderText } from "./claims.ts";
import { type IpamMetrics } from "./metrics.ts";
import { type PodEvents } from "./pod-events.ts";
import { Reported } from "./reported.ts";
import { type SubnetHolders } from "./subnet-holders.ts";
import { type Attachment, type PodIdentity } from "./types.ts";

export interface UnclaimedAddressesComponents {
    readonly wiring: Pick<Wiring, "cutOff" | "isCutOff">;
    readonly holders: Pick<SubnetHolders, "heldElsewhere">;
    readonly events: Pick<PodEvents, "heldElsewhere" | "inAnothersSubnet" | "poolChanged">;
    readonly metrics: Pick<IpamMetrics, "heldElsewhere">;
    readonly logger: Logger;
}

/**
 * Addresses in use that are not claimed for their interface: isolates the interface where another has the address or may
 * get it, and reports that, or that no pool has it, once.
 */
export class UnclaimedAddresses {
    readonly #components: UnclaimedAddressesComponents;
    readonly #logger: Logger;
    /** For which interfaces are isolated. */
    readonly #isolated = new Reported();
    /** That are in no IPPool, and kept. */
    readonly #poolless = new Reported();

    constructor(components: UnclaimedAddressesComponents) {
        this.#components = components;
        this.#logger = components.logger;
    }

    /** How many addresses that are kept are in no IPPool. */
    get poolless(): number {
        return this.#poolless.size;
    }

    /**
     * Of an address without any claim that is in no IPPool: none hands it out, so the interface may keep it, unless the
     * address is of another Node's podCIDR; then the interface is isolated.
     */
    async mayKeep(wired: WiredInterface, ip: IpAddress): Promise<boolean> {
        const { events, holders } = this.#components;
        const [held] = holders.heldElsewhere([ip]);
        if (held !== undefined) {
            this.#poolless.forget(wired, ip);
            await this.#isolate(wired, ip, {
                message: "a Pod interface is isolated: its address is in no IPPool, and of the podCIDR of another Node",
                fields: { node: held.node },
                event: (pod) => events.inAnothersSubnet(pod, formatIp(ip), held.node),
            });
            return false;
        }
        this.#poolless.report(wired, ip, {
            first: () =>
                this.#logger.warn("a Pod has an address without a claim that is in no IPPool", fieldsOf(wired, ip)),
            event: () => events.poolChanged(podOf(wired), formatIp(ip), "no IPPool has it any more"),
        });
        return true;
    }

    /** The address is claimed for another, or reserved. */
    isolateFor(wired: WiredInterface, ip: IpAddress, claim: IpAllocation): Promise<void> {
        const { events } = this.#components;
        const holder = holderText(claim);
        return this.#isolate(wired, ip, {
            message: "a Pod interface is cut off: its address is claimed for another",
            fields: { holder },
            event: (pod) => events.heldElsewhere(pod, claim.spec.address, holder),
        });
    }

    /** The claim is freed already, whenever the deletion of the Node was heard of: the address may be another's any time. */
    async isolateFreed(wired: WiredInterface, ip: IpAddress): Promise<void> {
        const { wiring } = this.#components;
        const isNew = !wiring.isCutOff(wired);
        await wiring.cutOff(wired);
        if (!isNew) return;
        this.#logger.error(
            "a Pod interface is isolated: this Node is gone, and its address is free for others",
            fieldsOf(wired, ip),
        );
    }

    /** A pool has the address, or a claim: if both are gone again, that is reported again. */
    hasPool(wired: Attachment, ip: IpAddress): void {
        this.#poolless.forget(wired, ip);
    }

    /** It is the interface's: if that is isolated for it again, it is reported again. */
    isConnected(wired: Attachment, ip: IpAddress): void {
        this.#isolated.forget(wired, ip);
    }

    /** Forgets all but these interfaces. */
    keep(present: readonly Attachment[]): void {
        this.#isolated.keep(present);
        this.#poolless.keep(present);
    }

    async #isolate(
        wired: WiredInterface,
        ip: IpAddress,
        o: {
            readonly message: string;
            readonly fields: Readonly<Record<string, string>>;
            readonly event: (pod: PodIdentity) => boolean;
        },
    ): Promise<void> {
        const { metrics, wiring } = this.#components;
        await wiring.cutOff(wired);
        this.#isolated.report(wired, ip, {
            first: () => {
                metrics.heldElsewhere();
                this.#logger.error(o.message, { ...fieldsOf(wired, ip), ...o.fields });
            },
            event: () => o.event(podOf(wired)),
        });
    }
}

function podOf({ podNamespace, podName, podUid }: WiredInterface): PodIdentity {
    return { namespace: podNamespace, name: podName, uid: podUid };
}

function fieldsOf({ podNamespace, podName }: WiredInterface, ip: IpAddress): Readonly<Record<string, string>> {
    return { pod: `${podNamespace}/${podName}`, address: formatIp(ip) };
}
