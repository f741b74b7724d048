import { type IpAllocation } from "@antrea/crd";
import { formatIp, type Family, type IpAddress } from "@antrea/ip";
import { type KubeError } from "@antrea/kube";
import { holderText } from "./allocations.ts";
import { IpPoolError } from "./errors.ts";
import { type KnownPool, type PoolCache } from "./pool-cache.ts";
import { type ClaimedAddress, type PoolChange } from "./types.ts";

/** The error POOL_CHANGED: the pool changed during each attempt. */
export function poolChanged({ address, difference }: PoolChange): IpPoolError {
    return new IpPoolError(
        "POOL_CHANGED",
        `IPPool ${address.pool} changed during each allocation from it: ${formatIp(address.ip)} was allocated, and then ${difference}; the next try may succeed`,
    );
}

/**
 * Where the pools of a request are named, as part of a sentence.
 *
 * @param network that of the interface; undefined for a Pod's own interface
 */
function whereNamed(network: string | undefined): string {
    return network === undefined ? "the annotation of the Pod's template or Namespace" : `network ${network}`;
}

/** The error NO_POOL: the IPPool does not exist. `network` as of the holder. */
export function noPool(name: string, network?: string): IpPoolError {
    return new IpPoolError("NO_POOL", `IPPool ${name} does not exist; create it, or correct ${whereNamed(network)}`);
}

/**
 * The error NODE_GONE of the Node with this name.
 *
 * @param cause why it cannot be confirmed that the Node is back; undefined if it does not exist
 */
export function nodeGone(name: string, cause?: KubeError): IpPoolError {
    const what =
        cause === undefined
            ? `Node ${name} no longer exists`
            : `Node ${name} was deleted, and it is not known whether it was recreated (${cause.message})`;
    return new IpPoolError(
        "NODE_GONE",
        `${what}, so no address of an IPPool is allocated on it; retrying, and kubelet recreates the Node when it is restarted`,
        { cause },
    );
}

/** The error POOL_DELETED, for pools of these names, at least one, that are all being deleted. `network` as of the holder. */
export function poolDeleted(names: readonly string[], network?: string): IpPoolError {
    const [subject, verb] = names.length === 1 ? ["IPPool", "is"] : ["IPPools", "are"];
    return new IpPoolError(
        "POOL_DELETED",
        `${subject} ${names.join(", ")} ${verb} being deleted and ${verb === "is" ? "hands" : "hand"} out no new address; name another IPPool in ${whereNamed(network)}, or create the IPPool again when it is deleted`,
    );
}

/**
 * The pools that hand out new addresses, in the same order; throws POOL_DELETED if there are pools and all are being
 * deleted. `network` as of the holder.
 */
export function openPools(pools: readonly KnownPool[], network?: string): readonly KnownPool[] {
    const open = pools.filter(({ isDeleting }) => !isDeleting);
    if (open.length === 0 && pools.length > 0)
        throw poolDeleted(
            pools.map(({ pool }) => pool.name),
            network,
        );
    return open;
}

/** The error EXHAUSTED for pools of one family, at least one, without a free address. `network` as of the holder. */
export function exhausted(pools: readonly KnownPool[], network?: string): IpPoolError {
    const texts = pools.map(
        ({ pool, usable }) => `${pool.name} (${usable.size} ${usable.size === 1n ? "address" : "addresses"})`,
    );
    const steps =
        pools.length === 1
            ? "delete Pods that use it, add a range to it"
            : "delete Pods that use one of them, add a range to one";
    const further = network === undefined ? "a further IPPool" : `another IPPool in network ${network}`;
    const [first, ...others] = pools.map(({ pool }) => `spec.pool=${pool.name}`);
    const likewise = others.length === 0 ? "" : `, and so for ${others.join(", ")}`;
    return new IpPoolError(
        "EXHAUSTED",
        `no free address in IPPool ${texts.join(" or ")}: all are allocated; ${steps}, or name ${further}. kubectl get ipallocations --field-selector ${first} lists their owners${likewise}`,
    );
}

/**
 * Throws VLAN_CONFLICT, before any allocation, if the IPv4 pools and the IPv6 pools have no VLAN (or untagged) in
 * common; never for pools of one family.
 */
export function refuseVlansApart(pools: readonly KnownPool[]): void {
    const of = (family: Family): PoolsInVlans => {
        const own = pools.map(({ pool }) => pool).filter((pool) => pool.family === family);
        const vlans = own.flatMap(({ subnets }) => subnets.map(({ vlan }) => vlan));
        return { names: own.map(({ name }) => name), vlans: new Set(vlans) };
    };
    const [one, other] = [of(4), of(6)];
    if (one.vlans.size === 0 || other.vlans.size === 0) return;
    if (![...one.vlans].some((vlan) => other.vlans.has(vlan))) throw vlanConflict(one, other);
}

/**
 * Throws VLAN_CONFLICT if the two addresses of an interface, one of each family, have different VLANs; never for fewer.
 */
export function refuseTwoVlans([one, other]: readonly ClaimedAddress[]): void {
    if (one === undefined || other === undefined || one.vlan === other.vlan) return;
    const asPools = ({ pool, vlan }: ClaimedAddress): PoolsInVlans => ({ names: [pool], vlans: new Set([vlan]) });
    throw vlanConflict(asPools(one), asPools(other));
}

/** Pools with the VLANs of their addresses; 0 is untagged. */
interface PoolsInVlans {
    readonly names: readonly string[];
    readonly vlans: ReadonlySet<number>;
}

function vlanConflict(one: PoolsInVlans, other: PoolsInVlans): IpPoolError {
    const [ours, theirs] = [one, other].map(({ vlans }) =>
        [...vlans].map((vlan) => (vlan === 0 ? "0 (untagged)" : String(vlan))).join(", "),
    );
    return new IpPoolError(
        "VLAN_CONFLICT",
        `IPPools ${one.names.join(", ")} and ${other.names.join(", ")} give addresses of the VLANs ${ours} and ${theirs}, and an interface has one; name IPPools of the same VLAN`,
    );
}

/**
 * The error NOT_IN_POOL of a fixed address that none of `pools`, all of its family, hands out; the message has the
 * reason of each pool from `cache`.
 */
export function notInPool(ip: IpAddress, pools: readonly KnownPool[], cache: Pick<PoolCache, "reason">): IpPoolError {
    const reasons = pools.map(({ pool }) => `${cache.reason(pool, ip) ?? "is handed out"} (IPPool ${pool.name})`);
    return new IpPoolError(
        "NOT_IN_POOL",
        `the fixed address ${formatIp(ip)} cannot be had: it ${reasons.join(", and ")}; choose another address or IPPool`,
    );
}

/**
 * The error ADDRESS_HELD of a fixed address of the IPPool named `pool`. `allocation` is the one that holds it;
 * undefined if it cannot be found.
 */
export function heldByOther(ip: IpAddress, pool: string, allocation: IpAllocation | undefined): IpPoolError {
    const holder = allocation === undefined ? "another Pod" : holderText(allocation);
    const isPod = allocation?.spec.pod !== undefined;
    const step = isPod
        ? "delete that Pod first; a Deployment with a fixed address needs strategy Recreate"
        : "choose another address";
    return new IpPoolError(
        "ADDRESS_HELD",
        `the fixed address ${formatIp(ip)} of IPPool ${pool} is held by ${holder}; ${step}`,
    );
}
