import { allocationName, blockText, ipAllocations, type AllocationOwner, type IpAllocation } from "@antrea/crd";
import { isKubeError, type ApiClient } from "@antrea/kube";
import { formatIp, type IpAddress } from "@antrea/ip";
import { ClaimReader, type Claim } from "./claim.ts";
import { ClaimWriterError } from "./errors.ts";

export interface Reservation {
    readonly ip: IpAddress;
    readonly pool: string;
    readonly owner: AllocationOwner;
}

/** What is to become of a claim as it is now; undefined: it stays. */
export type Fate = "delete" | "reserve" | { readonly adoptBy: string } | undefined;

/** Says what is to become of the claim, looking at it as the API server has it now. May ask the API server more. */
export type Judge = (live: Claim) => Fate | Promise<Fate>;

const timeoutMs = 10_000;
const maxTries = 8;

/**
 * Writes claims. A change is decided on the live object and holds for that very version of it only, so that nobody's
 * claim is freed because of what a watch has not told yet.
 */
export class ClaimWriter {
    readonly #api: Pick<ApiClient, "find" | "create" | "update" | "delete">;
    readonly #reader = new ClaimReader();

    constructor(components: { readonly api: Pick<ApiClient, "find" | "create" | "update" | "delete"> }) {
        this.#api = components.api;
    }

    /**
     * Reserves an address. Undefined if it is claimed already, by whomever; a create whose answer was lost is repeated
     * and counts as ours if the claim is for this very owner.
     */
    async reserve({ ip, pool, owner }: Reservation, signal: AbortSignal): Promise<Claim | undefined> {
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

    /** The claim as the API server has it now. */
    async read(name: string, signal: AbortSignal): Promise<Claim | undefined> {
        const live = await this.#find(name, signal);
        return live && this.#reader.read(live);
    }

    /** Changes a claim as `judge` says; false if it is gone, replaced by another, or stays. */
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
                // Looked at again; if the lost write took effect, there is nothing left to do.
                written ||= lost;
            }
        }
        throw new ClaimWriterError("BUSY", "environment", `IPAllocation ${name} was changed by others all the time`);
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
        a.kind === b.kind && a.namespace === b.namespace && a.name === b.name && a.uid === b.uid && a.index === b.index
    );
}
