import { allocationName, blockText, ipAllocations, type IpAllocation } from "@antrea/crd";
import { formatIp, parseIp, type IpAddress } from "@antrea/ip";
import { fieldsOf, textOf, type Fields } from "../manifest-objects.ts";
import { isName, isNamespaceName } from "../object-names.ts";

/**
 * An address that an IPPool of upstream Antrea reserves for an ordinal of a StatefulSet, and the IPAllocation that
 * keeps it here.
 */
export interface Reservation {
    readonly ip: IpAddress;
    readonly pool: string;
    /** `ordinal 1 of StatefulSet shop/db` */
    readonly ordinal: string;
    /** A Pod uses it. */
    readonly inUse: boolean;
    /** The object to create, in state Reserved. */
    readonly allocation: IpAllocation;
}

/** The StatefulSet addresses in a pool's status, and as text the entries that cannot be read. */
export interface Reservations {
    readonly stored: readonly Reservation[];
    readonly unusable: readonly string[];
}

/**
 * The addresses that a pool of upstream Antrea reserves for StatefulSet ordinals; `status`, of any shape, is that of
 * the pool. There the list in `status.ipAddresses` is their only record; here each is an IPAllocation. Addresses of
 * other Pods are left out: a recreated Pod gets a new one.
 */
export function reservationsOf(pool: string, status: unknown): Reservations {
    const entries: unknown = fieldsOf(status).ipAddresses;
    const stored: Reservation[] = [];
    const unusable: string[] = [];
    for (const entry of Array.isArray(entries) ? entries.map(fieldsOf) : []) {
        const owner = fieldsOf(entry.owner);
        if (owner.statefulSet === undefined) continue;
        const reservation = reservationOf(pool, entry.ipAddress, owner);
        if (reservation === undefined) unusable.push(`status.ipAddresses of IPPool ${pool}: ${textOf(entry)}`);
        else stored.push(reservation);
    }
    return { stored, unusable };
}

/**
 * Keeps one address for each pool, IP family and ordinal, as this version keeps no second one: the one in use, else the
 * first. `further` lists the omitted ones as sentences.
 */
export function oneAnOrdinal(stored: readonly Reservation[]): {
    readonly kept: readonly Reservation[];
    readonly further: readonly string[];
} {
    const keyOf = ({ pool, ordinal, ip }: Reservation): string => `${pool} ${ip.family} ${ordinal}`;
    const chosen = new Map<string, Reservation>();
    for (const one of stored) {
        const known = chosen.get(keyOf(one));
        if (known === undefined || (one.inUse && !known.inUse)) chosen.set(keyOf(one), one);
    }
    const kept = new Set(chosen.values());
    const further = stored
        .filter((one) => !kept.has(one))
        .map((one) => {
            const { address } = (chosen.get(keyOf(one)) ?? one).allocation.spec;
            return `IPPool ${one.pool}: ${formatIp(one.ip)} is not kept for ${one.ordinal}, which has ${address}`;
        });
    return { kept: stored.filter((one) => kept.has(one)), further };
}

function reservationOf(pool: string, address: unknown, { statefulSet, pod }: Fields): Reservation | undefined {
    const { namespace, name, index } = fieldsOf(statefulSet);
    if (typeof address !== "string" || !isNamespaceName(namespace) || !isName(name)) return undefined;
    if (typeof index !== "number" || !Number.isSafeInteger(index) || index < 0) return undefined;
    try {
        const ip = parseIp(address);
        const allocation: IpAllocation = {
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
        const ordinal = `ordinal ${index} of StatefulSet ${namespace}/${name}`;
        return { ip, pool, ordinal, inUse: pod !== undefined, allocation };
    } catch {
        return undefined;
    }
}
