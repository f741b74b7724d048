import { formatIp } from "@antrea/ip";
import { isPoolRecord, type NetworkRecord, type PodRecord } from "../../platform/pod-interfaces/index.ts";
import type { IpPools } from "./ip-pools.ts";

/**
 * Adapts the allocations of this Node for the rebuild of its interfaces: `synced` resolves when they are known, or
 * rejects if its signal aborts; `cover` is whether all addresses of the record are allocated to its interface or Pod.
 */
export function recordAllocations(pools: Pick<IpPools, "own" | "hasAllocations">): {
    readonly synced: (signal: AbortSignal) => Promise<void>;
    readonly cover: (record: PodRecord) => boolean;
} {
    return {
        synced: (signal) => pools.own.synced(signal),
        cover: (record) =>
            pools.hasAllocations(
                record,
                record.addresses.map(({ ip }) => ip),
            ),
    };
}

const allocationsKnownMs = 2_000;

/**
 * For CHECK: describes a problem with the allocations of a record, as a predicate about its interface
 * (`address … is not allocated to it: …`). Undefined if there is none, `pools` is undefined, the record has no
 * addresses of pools, or the allocations are not synced within 2 s. Never rejects.
 */
export async function allocationProblem(
    pools: IpPools | undefined,
    record: PodRecord | NetworkRecord,
): Promise<string | undefined> {
    if (pools === undefined || !isPoolRecord(record)) return undefined;
    try {
        await pools.own.synced(AbortSignal.timeout(allocationsKnownMs));
    } catch {
        return undefined;
    }
    const claimed = new Set(pools.own.ofContainer(record).map(({ spec }) => spec.address));
    const ofPools = record.addresses.filter(({ pool }) => pool !== undefined).map(({ ip }) => formatIp(ip));
    const lost = ofPools.find((text) => !claimed.has(text));
    return lost === undefined
        ? undefined
        : `address ${lost} is not allocated to it: no IPAllocation names the container`;
}
