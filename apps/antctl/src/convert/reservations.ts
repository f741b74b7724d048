import { allocationName, blockText, ipAllocations, type IpAllocation } from "@antrea/crd";
import { formatIp, parseIp } from "@antrea/ip";
import { fieldsOf, textOf, type Fields } from "../manifest-objects.ts";

/** What the status of a pool says of StatefulSets, as claims, and what of it cannot be read. */
export interface Reservations {
    readonly claims: readonly IpAllocation[];
    readonly unusable: readonly string[];
}

/**
 * The addresses that a pool of Antrea in Go keeps for the ordinals of StatefulSets. There the list in `status.ipAddresses`
 * is the only record of them; here each is a claim of its own. Addresses of other Pods are left out: a Pod that is
 * made again gets another one.
 */
export function reservationsOf(pool: string, status: unknown): Reservations {
    const entries: unknown = fieldsOf(status).ipAddresses;
    const claims: IpAllocation[] = [];
    const unusable: string[] = [];
    for (const entry of Array.isArray(entries) ? entries.map(fieldsOf) : []) {
        const { statefulSet } = fieldsOf(entry.owner);
        if (statefulSet === undefined) continue;
        const claim = claimOf(pool, entry.ipAddress, fieldsOf(statefulSet));
        if (claim === undefined) unusable.push(`status.ipAddresses of IPPool ${pool}: ${textOf(entry)}`);
        else claims.push(claim);
    }
    return { claims, unusable };
}

function claimOf(pool: string, address: unknown, { namespace, name, index }: Fields): IpAllocation | undefined {
    if (typeof address !== "string" || typeof namespace !== "string" || typeof name !== "string") return undefined;
    if (typeof index !== "number" || !Number.isInteger(index) || index < 0) return undefined;
    try {
        const ip = parseIp(address);
        return {
            apiVersion: `${ipAllocations.group}/${ipAllocations.version}`,
            kind: ipAllocations.kind,
            metadata: { name: allocationName(ip) },
            spec: {
                address: formatIp(ip),
                block: blockText(ip),
                pool,
                state: "Reserved",
                owner: { kind: "StatefulSet", namespace, name, index },
            },
        };
    } catch {
        return undefined;
    }
}
