import { allocationName, blockText, ipAllocations, type AllocationOwner, type IpAllocation } from "@antrea/crd";
import { isKubeError, type ApiClient } from "@antrea/kube";
import { formatIp, type IpAddress } from "@antrea/ip";
import { AllocationReader, type Allocation } from "./allocation.ts";
import { AllocationWriterError } from "./errors.ts";

/** An address to reserve, the pool to name in the allocation, and the owner. */
export interface Reservation {
    readonly ip: IpAddress;
    readonly pool: string;
    readonly owner: AllocationOwner;
}

/**
 * What to do with a live allocation: delete it, take it from its Pod (state Reserved), or replace the UID of its owner;
 * undefined: nothing.
 */
export type Fate = "delete" | "reserve" | { readonly adoptBy: string } | undefined;

/**
 * Decides what to do with the live allocation; called again when a write conflicted. May read from the API server; its
 * rejection is that of `change`.
 */
export type Judge = (live: Allocation) => Fate | Promise<Fate>;

const timeoutMs = 10_000;
const maxTries = 8;

/**
 * Writes IPAllocations. A change is decided on the live object and applies to that resourceVersion only, so that a
 * stale watch never releases an allocation in use. Each request to the API server is limited to 10 s. Calls may be
 * concurrent.
 */
export class AllocationWriter {
    readonly #api: Pick<ApiClient, "find" | "create" | "update" | "delete">;
    readonly #reader = new AllocationReader();

    constructor(components: { readonly api: Pick<ApiClient, "find" | "create" | "update" | "delete"> }) {
        this.#api = components.api;
    }

    /**
     * Reserves an address and returns the allocation. Undefined if it is already allocated; a create whose answer was
     * lost is repeated, up to eight times, and counts as successful if the allocation has the same owner. Rejects with
     * KubeError (with `outcomeUnknown` the address may be reserved) or, likewise, with the reason of the signal.
     */
    async reserve({ ip, pool, owner }: Reservation, signal: AbortSignal): Promise<Allocation | undefined> {
        const name = allocationName(ip);
        const spec = { address: formatIp(ip), block: blockText(ip), pool, state: "Reserved", owner } as const;
        for (let tries = 1; ; tries += 1) {
            try {
                const created = await this.#api.create(
                    ipAllocations,
                    { metadata: { name }, spec },
                    { signal, timeoutMs },
                );
                return this.#reader.read(created);
            } catch (error) {
                if (isKubeError(error, "ALREADY_EXISTS")) {
                    const live = tries > 1 ? await this.read(name, signal) : undefined;
                    return live !== undefined && sameOwner(live.owner, owner) ? live : undefined;
                }
                if (!isKubeError(error) || !error.outcomeUnknown || tries >= maxTries) throw error;
                signal.throwIfAborted();
            }
        }
    }

    /**
     * The allocation of this name as stored in the API server now; undefined if there is none. Rejects with KubeError.
     */
    async read(name: string, signal: AbortSignal): Promise<Allocation | undefined> {
        const live = await this.#find(name, signal);
        return live && this.#reader.read(live);
    }

    /**
     * Changes an allocation as `judge` decides; false if it was deleted, replaced (another UID), or left unchanged,
     * true also if only a write whose answer was lost can have changed it. Rejects with AllocationWriterError `BUSY`
     * after eight tries, KubeError, the error of `judge`, or the reason of the signal.
     */
    async change(name: string, uid: string, judge: Judge, signal: AbortSignal): Promise<boolean> {
        let written = false;
        for (let tries = 1; tries <= maxTries; tries += 1) {
            signal.throwIfAborted();
            const live = await this.#find(name, signal);
            if (live === undefined || live.metadata?.uid !== uid) return written;
            const fate = await judge(this.#reader.read(live));
            if (fate === undefined) return written;
            signal.throwIfAborted();
            try {
                await this.#apply(live, fate, signal);
                return true;
            } catch (error) {
                if (isKubeError(error, "NOT_FOUND")) return written;
                const lost = isKubeError(error) && error.outcomeUnknown;
                if (!lost && !isKubeError(error, "CONFLICT")) throw error;
                // Read again; if the lost write took effect, nothing remains to be done.
                written ||= lost;
            }
        }
        throw new AllocationWriterError(
            "BUSY",
            "environment",
            `IPAllocation ${name} was changed by other writers at each try`,
        );
    }

    async #apply(live: IpAllocation, fate: NonNullable<Fate>, signal: AbortSignal): Promise<void> {
        const { name = "", uid, resourceVersion } = live.metadata ?? {};
        if (fate === "delete") {
            return this.#api.delete(ipAllocations, { name }, { uid, resourceVersion, signal, timeoutMs });
        }
        const { pod: _, ...rest } = live.spec;
        const spec =
            fate === "reserve"
                ? { ...rest, state: "Reserved" as const }
                : { ...live.spec, owner: { ...live.spec.owner, uid: fate.adoptBy } };
        await this.#api.update(ipAllocations, { ...live, spec }, { signal, timeoutMs });
    }

    async #find(name: string, signal: AbortSignal): Promise<IpAllocation | undefined> {
        return this.#api.find(ipAllocations, { name }, { signal, timeoutMs });
    }
}

function sameOwner(a: AllocationOwner, b: AllocationOwner): boolean {
    return (
        a.kind === b.kind &&
        a.namespace === b.namespace &&
        a.name === b.name &&
        a.uid === b.uid &&
        a.index === b.index &&
        a.interface === b.interface
    );
}
