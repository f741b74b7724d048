import { type IpAllocation } from "@antrea/crd";
import { formatIp, type IpAddress } from "@antrea/ip";
import { type Logger } from "@antrea/runtime";
import { type NamedPodUid } from "@antrea/kube";
import { holderText } from "./allocations.ts";
import { type IpamMetrics } from "./metrics.ts";
import { type PodEvents } from "./pod-events.ts";
import { Reported } from "./reported.ts";
import { type SubnetHolders } from "./subnet-holders.ts";
import { podOf } from "./types.ts";
import { type PoolInterface, type Wiring } from "./wiring.ts";
import { type Attachment, attachmentKey } from "../../platform/pod-interfaces/index.ts";

/** Dependencies of UnclaimedAddresses. */
export interface UnclaimedAddressesComponents {
    readonly wiring: Pick<Wiring, "isolate" | "isConnected" | "isIsolated" | "isUndecided">;
    readonly holders: Pick<SubnetHolders, "heldElsewhere">;
    readonly events: Pick<PodEvents, "heldElsewhere" | "inAnothersSubnet" | "poolChanged" | "staysIsolated">;
    readonly metrics: Pick<IpamMetrics, "heldElsewhere">;
    readonly logger: Logger;
}

/**
 * Handles addresses in use that are not allocated to their interface: isolates the interface if the address is or may
 * be assigned to another Pod. Reports that, or that no pool contains the address, once in the log and, as soon as the
 * Pod's name is known, as an event. Methods that isolate are called under the container's lock and reject if
 * `wiring.isolate` does.
 */
export class UnclaimedAddresses {
    readonly #components: UnclaimedAddressesComponents;
    readonly #logger: Logger;
    /** Addresses whose interfaces are isolated, as somebody else has them. */
    readonly #isolated = new Reported();
    /** Addresses whose interfaces stay isolated, as nothing determines any longer who has them. */
    readonly #undetermined = new Reported();
    /** Addresses that are in no IPPool and are kept. */
    readonly #poolless = new Reported();
    /**
     * By address of an interface, whether it may be reconnected without allocation and pool: this held while the
     * interface had traffic, so that no pool can have handed the address out, or it was isolated because of a podCIDR.
     */
    readonly #mayReturn = new Map<string, boolean>();

    constructor(components: UnclaimedAddressesComponents) {
        this.#components = components;
        this.#logger = components.logger;
    }

    /** Number of kept addresses that are in no IPPool. */
    get poolless(): number {
        return this.#poolless.size;
    }

    /**
     * Isolates the interface of an address without allocation if the podCIDR of another Node contains the address: that
     * Node may have assigned it to a Pod. Returns false, and does nothing, if none does.
     *
     * @param pool the IPPool that contains the address; undefined if none does
     * @param wasIsolated whether the interface was isolated before this check
     */
    async isolateIfElsewhere(
        wired: PoolInterface,
        ip: IpAddress,
        { pool, wasIsolated }: { readonly pool: string | undefined; readonly wasIsolated: boolean },
    ): Promise<boolean> {
        const { events, holders } = this.#components;
        const [held] = holders.heldElsewhere([ip]);
        if (held === undefined) return false;
        this.#poolless.forget(wired, ip);
        if (!wasIsolated) this.#mayReturn.set(keyOf(wired, ip), true);
        await this.#isolate(wired, ip, {
            message: "a Pod interface is isolated: its address has no allocation and is in the podCIDR of another Node",
            fields: { node: held.node, ...(pool !== undefined && { pool }) },
            event: (pod) => events.inAnothersSubnet(pod, formatIp(ip), held.node, pool),
        });
        return true;
    }

    /**
     * Whether an interface may keep an address without allocation that is in no IPPool and no other Node's podCIDR: it
     * is not handed out, so an interface with traffic keeps it. An isolated one may conflict with another user that
     * lost its allocation as well: it stays isolated unless the reason of its isolation is known to be different.
     *
     * @param wasIsolated as in `isolateIfElsewhere`
     */
    async mayKeep(
        wired: PoolInterface,
        ip: IpAddress,
        { wasIsolated }: { readonly wasIsolated: boolean },
    ): Promise<boolean> {
        const { events, wiring } = this.#components;
        const key = keyOf(wired, ip);
        if (wasIsolated) {
            const mayReturn = this.#mayReturn.get(key) ?? wiring.isUndecided(wired);
            if (!mayReturn || wiring.isConnected(ip)) {
                await this.#stayIsolated(wired, ip);
                return false;
            }
        }
        this.#mayReturn.set(key, true);
        this.#poolless.report(wired, ip, {
            first: () =>
                this.#logger.warn(
                    "a Pod has an address that is in no IPPool and has no allocation",
                    fieldsOf(wired, ip),
                ),
            event: () => events.poolChanged(podOf(wired), formatIp(ip), "no IPPool contains it any longer"),
        });
        return true;
    }

    /** Isolates the interface because the address is allocated to another Pod, or reserved. */
    isolateFor(wired: PoolInterface, ip: IpAddress, allocation: IpAllocation): Promise<void> {
        const { events } = this.#components;
        const holder = holderText(allocation);
        this.#mayReturn.set(keyOf(wired, ip), false);
        return this.#isolate(wired, ip, {
            message: "a Pod interface is isolated: its address is allocated to another Pod",
            fields: { holder },
            event: (pod) => events.heldElsewhere(pod, allocation.spec.address, holder),
        });
    }

    /**
     * Isolates the interface because its allocation is freed, regardless of when the deletion of the Node was observed:
     * the address may be reassigned at any time. Only logged, if the interface was not isolated before.
     */
    async isolateFreed(wired: PoolInterface, ip: IpAddress): Promise<void> {
        const { wiring } = this.#components;
        const isNew = !wiring.isIsolated(wired);
        await wiring.isolate(wired);
        if (!isNew) return;
        this.#logger.error(
            "a Pod interface is isolated: this Node was deleted, and its address may be reallocated",
            fieldsOf(wired, ip),
        );
    }

    /** To be called when the address has a pool or an allocation; if both disappear again, that is reported again. */
    hasPool(wired: Attachment, ip: IpAddress): void {
        this.#poolless.forget(wired, ip);
        this.#undetermined.forget(wired, ip);
        this.#mayReturn.set(keyOf(wired, ip), false);
    }

    /**
     * To be called when the address belongs to the interface; if it is isolated for it again, that is reported again.
     */
    isConnected(wired: Attachment, ip: IpAddress): void {
        this.#isolated.forget(wired, ip);
        this.#undetermined.forget(wired, ip);
    }

    /** Drops the entries of all other interfaces. */
    keep(present: readonly PoolInterface[]): void {
        this.#isolated.keep(present);
        this.#undetermined.keep(present);
        this.#poolless.keep(present);
        const keys = new Set(present.flatMap((wired) => wired.addresses.map(({ ip }) => keyOf(wired, ip))));
        for (const key of this.#mayReturn.keys()) if (!keys.has(key)) this.#mayReturn.delete(key);
    }

    /** Isolates again, in case an earlier attempt failed halfway. */
    async #stayIsolated(wired: PoolInterface, ip: IpAddress): Promise<void> {
        const { events, wiring } = this.#components;
        await wiring.isolate(wired);
        this.#isolated.forget(wired, ip);
        this.#undetermined.report(wired, ip, {
            first: () =>
                this.#logger.warn(
                    "a Pod interface stays isolated: its address has no allocation, is in no IPPool, and may be assigned to another Pod",
                    fieldsOf(wired, ip),
                ),
            event: () => events.staysIsolated(podOf(wired), formatIp(ip)),
        });
    }

    async #isolate(
        wired: PoolInterface,
        ip: IpAddress,
        o: {
            readonly message: string;
            readonly fields: Readonly<Record<string, string>>;
            readonly event: (pod: NamedPodUid) => boolean;
        },
    ): Promise<void> {
        const { metrics, wiring } = this.#components;
        await wiring.isolate(wired);
        this.#undetermined.forget(wired, ip);
        this.#isolated.report(wired, ip, {
            first: () => {
                metrics.heldElsewhere();
                this.#logger.error(o.message, { ...fieldsOf(wired, ip), ...o.fields });
            },
            event: () => o.event(podOf(wired)),
        });
    }
}

function keyOf(wired: Attachment, ip: IpAddress): string {
    return `${attachmentKey(wired)} ${formatIp(ip)}`;
}

function fieldsOf({ podNamespace, podName }: PoolInterface, ip: IpAddress): Readonly<Record<string, string>> {
    return { pod: `${podNamespace}/${podName}`, address: formatIp(ip) };
}
