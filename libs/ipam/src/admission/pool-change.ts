import { formatIp, formatRangeSet, RangeIndex, RangeSet, sameIp } from "@antrea/ip";
import { type Pool, type PoolSubnet } from "../pool.ts";
import { valueText, type Refusal } from "../refusal.ts";

/** The effect of a change of a pool's spec on its addresses, independent of how the ranges are written. */
export interface PoolChange {
    /**
     * Changes that are never allowed: of ipVersion, or of gateway or prefixLength of an address that stays in the pool.
     */
    readonly refusals: readonly Refusal[];
    /** Addresses that were handed out and that no range contains now: rejected while the pool is in use. */
    readonly removed: RangeSet;
    /**
     * Addresses that are no longer handed out although a range contains them, because they are now the edge of a CIDR
     * or a gateway: rejected while one of them is allocated. So a CIDR can be split.
     */
    readonly uncovered: RangeSet;
    /** Changes of the VLAN of addresses that stay in the pool: rejected while the pool is in use. */
    readonly vlans: readonly Refusal[];
    /** What must be queried to judge the change. */
    readonly asks: {
        /**
         * Whether the pool is in use: at least one of its allocations for which `isUse` is true, and the objects that
         * name it.
         */
        readonly inUse: boolean;
        /** The allocations of these addresses. */
        readonly allocationsIn: RangeSet;
        /** All allocations of these addresses; see `newGateways`. */
        readonly gateways: RangeSet;
    };
}

/**
 * Compares two specs of one pool by the addresses they contain. Ranges that cannot be parsed contain none. For equal
 * specs all members of the result are empty and false; after a change of ipVersion, which is refused, nothing else is
 * compared.
 */
export function comparePools(old: Pool, pool: Pool): PoolChange {
    if (sameSpec(old, pool)) return changeOf({});
    if (old.spec?.ipVersion !== pool.spec?.ipVersion) {
        const rule = `cannot be changed from ${valueText(old.spec?.ipVersion)}: create another IPPool`;
        return changeOf({ refusals: [{ path: "spec.ipVersion", value: valueText(pool.spec?.ipVersion), rule }] });
    }
    const removed = old.addresses.subtract(RangeSet.of(pool.subnets.map(({ range }) => range)));
    const uncovered = old.addresses.subtract(pool.addresses).subtract(removed);
    const stays = staying(old, pool);
    return changeOf({
        refusals: stays.flatMap((both) => [...gatewayChange(both), ...prefixChange(both)]),
        removed,
        uncovered,
        vlans: stays.flatMap(vlanChange),
        gateways: newGateways(pool, old),
    });
}

/** True if the specs are equal as JSON, whatever the order of fields. */
export function sameSpec(a: Pool, b: Pool): boolean {
    return sameJson(a.spec, b.spec);
}

/**
 * Returns the gateways of the pool that it did not have in the same VLAN before, all of them without `old`; their
 * addresses must not be in use.
 */
export function newGateways(pool: Pool, old?: Pool): RangeSet {
    const before = old?.gateways ?? [];
    const fresh = pool.gateways.filter(
        ({ ip, vlan }) => !before.some((known) => known.vlan === vlan && sameIp(known.ip, ip)),
    );
    return RangeSet.ofAddresses(fresh.map(({ ip }) => ip));
}

function changeOf(parts: Partial<Omit<PoolChange, "asks">> & { readonly gateways?: RangeSet }): PoolChange {
    const { refusals = [], removed = RangeSet.empty, uncovered = RangeSet.empty, vlans = [] } = parts;
    const { gateways = RangeSet.empty } = parts;
    const asks = { inUse: !removed.isEmpty || vlans.length > 0, allocationsIn: uncovered.union(removed), gateways };
    return { refusals, removed, uncovered, vlans, asks };
}

interface Staying {
    readonly old: PoolSubnet;
    readonly subnet: PoolSubnet;
    readonly addresses: RangeSet;
}

/** Returns which addresses of which old range are in which new range. If old ranges overlap, the first one counts. */
function staying(before: Pool, after: Pool): readonly Staying[] {
    const index = new RangeIndex<number>();
    before.subnets.forEach(({ range }, at) => index.set(String(at), [range], at));
    return after.subnets.flatMap((subnet) => {
        const places = index.overlapping(subnet.range).map(({ value }) => value);
        let left = RangeSet.of([subnet.range]);
        return places
            .sort((a, b) => a - b)
            .flatMap((place) => {
                const old = before.subnets[place]!;
                const addresses = left.intersect(old.addresses);
                left = left.subtract(old.addresses);
                return addresses.isEmpty ? [] : [{ old, subnet, addresses }];
            });
    });
}

function gatewayChange({ old, subnet, addresses }: Staying): readonly Refusal[] {
    if (sameIp(old.gateway, subnet.gateway)) return [];
    return [changed(subnet, "gateway", formatIp(subnet.gateway), formatIp(old.gateway), addresses)];
}

function prefixChange({ old, subnet, addresses }: Staying): readonly Refusal[] {
    if (old.prefix.length === subnet.prefix.length) return [];
    return [changed(subnet, "prefixLength", String(subnet.prefix.length), String(old.prefix.length), addresses)];
}

function vlanChange({ old, subnet, addresses }: Staying): readonly Refusal[] {
    if (old.vlan === subnet.vlan) return [];
    return [changed(subnet, "vlan", String(subnet.vlan), String(old.vlan), addresses)];
}

function changed(subnet: PoolSubnet, field: string, value: string, before: string, addresses: RangeSet): Refusal {
    const rule = `cannot be changed: ${formatRangeSet(addresses)} has ${before}`;
    return { path: `${subnet.path}.${field}`, value, rule };
}

function sameJson(a: unknown, b: unknown): boolean {
    if (a === b) return true;
    if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
    if (Array.isArray(a) !== Array.isArray(b)) return false;
    const keys = Object.keys(a);
    return (
        keys.length === Object.keys(b).length &&
        keys.every((key) => Object.hasOwn(b, key) && sameJson(at(a, key), at(b, key)))
    );
}

function at(object: object, key: string): unknown {
    return (object as Readonly<Record<string, unknown>>)[key];
}
