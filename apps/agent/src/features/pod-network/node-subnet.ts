import { AntreaError } from "@antrea/errors";
import {
    formatIp,
    formatPrefix,
    prefixAt,
    prefixContains,
    prefixIndexOf,
    prefixOf,
    prefixSize,
    type IpAddress,
    type Prefix,
} from "@antrea/ip";
import type { PodAddress } from "../../platform/pod-interfaces/index.ts";

/**
 * Why an address of the Node's podCIDRs is not allocated:
 *
 * - `ALLOCATIONS_UNKNOWN`: it is not known yet whether an address is allocated from an IPPool; retry.
 * - `EXHAUSTED`: no free address.
 * - `NO_SUBNET`: the Node has no podCIDR.
 * - `TAKEN`: an address came into use outside this Node meanwhile; a retry gets another one.
 */
export type NodeSubnetErrorCode = "ALLOCATIONS_UNKNOWN" | "EXHAUSTED" | "NO_SUBNET" | "TAKEN";

/**
 * Failure to allocate an address of the Node's podCIDRs. The message is for users; the fault is `environment`, and
 * there are no details.
 */
export class NodeSubnetError extends AntreaError<NodeSubnetErrorCode> {}

interface Subnet {
    readonly prefix: Prefix;
    readonly gateway: IpAddress;
    /** By index inside the prefix, the owner. */
    readonly used: Map<bigint, string>;
    cursor: bigint;
    /** Only indexes below it are handed out; grows by blocks. */
    limit: bigint;
}

/** Addresses per block, the unit in which IPAllocations are watched. */
const blockSize = 256n;

/**
 * Allocates addresses of this Node's podCIDRs, synchronously and in memory: its state is rebuilt from the records of
 * the interfaces. Never hands out the network address (and IPv6's subnet-router anycast address, RFC 4291 section
 * 2.6.1), the gateway, and IPv4's broadcast address. Addresses come from the first block, and from the next one only
 * when all earlier blocks are used up, so that few blocks of IPAllocations concern a Node, however large its podCIDR.
 * Within the blocks the search continues after the last allocated address, so that a freed address is reused as late as
 * possible. Owners are any unique texts: `attachmentKey`, `heldOwner`.
 */
export class NodeSubnet {
    readonly #subnets: readonly Subnet[];

    readonly #isTaken: (ip: IpAddress) => boolean | undefined;

    /**
     * @param prefixes the Node's podCIDRs, at most one of each family
     * @param start index at which the search starts in each family, in [0, size); a different one after each start of
     * the agent keeps reuse late across restarts
     * @param isTaken whether an address of the podCIDRs is in use outside this Node; undefined while unknown: retry
     * later. Default: never
     */
    constructor(
        prefixes: readonly Prefix[],
        start: (size: bigint) => bigint,
        isTaken: (ip: IpAddress) => boolean | undefined = () => false,
    ) {
        this.#isTaken = isTaken;
        this.#subnets = prefixes.map((prefix) => ({
            prefix,
            gateway: prefixAt(prefix, 1n),
            used: new Map(),
            cursor: start(smaller(prefixSize(prefix), blockSize)),
            limit: blockSize,
        }));
    }

    /**
     * Allocates one free address per family for the owner, or none at all. Throws NodeSubnetError `NO_SUBNET`,
     * `EXHAUSTED` or `ALLOCATIONS_UNKNOWN`.
     *
     * @param heldBy an owner whose addresses are transferred to the new one, if it has any: see `heldOwner`
     */
    allocate(owner: string, heldBy?: string): readonly PodAddress[] {
        if (this.#subnets.length === 0)
            throw new NodeSubnetError("NO_SUBNET", "environment", "this Node has no podCIDR");
        const found = this.#subnets.map((subnet) => this.#held(subnet, heldBy) ?? this.#search(subnet));
        return found.map((index, position) => {
            // `#search` has thrown before any allocation if a family has no free address.
            const subnet = this.#subnets[position] as Subnet;
            // A held address does not move the search: freed addresses are to be reused as late as possible.
            if (subnet.used.get(index) === undefined) subnet.cursor = index + 1n;
            subnet.used.set(index, owner);
            return { ip: prefixAt(subnet.prefix, index), prefixLength: subnet.prefix.length, gateway: subnet.gateway };
        });
    }

    /**
     * Throws NodeSubnetError `TAKEN` if an address is known to have come into use outside this Node since it was
     * allocated. Frees nothing.
     */
    refuseTaken(addresses: readonly PodAddress[]): void {
        const taken = addresses.find(({ ip }) => this.contains(ip) && this.#isTaken(ip) === true);
        if (taken === undefined) return;
        throw new NodeSubnetError(
            "TAKEN",
            "environment",
            `address ${formatIp(taken.ip)} of this Node's podCIDR was allocated from an IPPool while the Pod was set up; the next try takes another one`,
        );
    }

    /**
     * Marks an address as used. False if another owner has it: the caller must not use it then. True, without effect,
     * for an address outside the podCIDRs.
     */
    take(ip: IpAddress, owner: string): boolean {
        const subnet = this.#subnetOf(ip);
        if (subnet === undefined) return true;
        const index = prefixIndexOf(subnet.prefix, ip);
        const holder = subnet.used.get(index);
        if (holder !== undefined && holder !== owner) return false;
        subnet.used.set(index, owner);
        return true;
    }

    /** Frees an address if this owner has it; else does nothing. */
    release(ip: IpAddress, owner: string): void {
        const subnet = this.#subnetOf(ip);
        if (subnet === undefined) return;
        const index = prefixIndexOf(subnet.prefix, ip);
        if (subnet.used.get(index) === owner) subnet.used.delete(index);
    }

    /** Frees those of the addresses that this owner has. */
    releaseAll(addresses: readonly Pick<PodAddress, "ip">[], owner: string): void {
        for (const { ip } of addresses) this.release(ip, owner);
    }

    /** The owner of the address; undefined if it is free or outside the podCIDRs. */
    ownerOf(ip: IpAddress): string | undefined {
        const subnet = this.#subnetOf(ip);
        return subnet?.used.get(prefixIndexOf(subnet.prefix, ip));
    }

    /** The addresses in use and those held. */
    addresses(): readonly IpAddress[] {
        return this.#subnets.flatMap(({ prefix, used }) => [...used.keys()].map((index) => prefixAt(prefix, index)));
    }

    /** Whether the address is in one of the Node's podCIDRs. */
    contains(ip: IpAddress): boolean {
        return this.#subnetOf(ip) !== undefined;
    }

    /** For each podCIDR, the number of used addresses, held ones included, and of all that may be handed out. */
    usage(): readonly { readonly prefix: Prefix; readonly used: number; readonly total: bigint }[] {
        return this.#subnets.map((subnet) => {
            const { first, last } = bounds(subnet.prefix);
            return { prefix: subnet.prefix, used: subnet.used.size, total: last < first ? 0n : last - first + 1n };
        });
    }

    #subnetOf(ip: IpAddress): Subnet | undefined {
        return this.#subnets.find((subnet) => prefixContains(subnet.prefix, ip));
    }

    /**
     * Throws while it is unknown whether the address is allocated from a pool: a running Pod must not lose its address
     * for that.
     */
    #held(subnet: Subnet, owner: string | undefined): bigint | undefined {
        if (owner === undefined) return undefined;
        for (const [index, holder] of subnet.used) {
            if (holder !== owner) continue;
            const isTaken = this.#isTaken(prefixAt(subnet.prefix, index));
            if (isTaken === undefined) throw allocationsUnknown(subnet, index);
            if (!isTaken) return index;
        }
        return undefined;
    }

    #search(subnet: Subnet): bigint {
        const { first, last } = bounds(subnet.prefix);
        if (last < first) throw exhausted(subnet, 0n);
        for (;;) {
            const found = this.#searchTo(subnet, first, smaller(last, subnet.limit - 1n));
            if (found !== undefined) return found;
            if (subnet.limit > last) throw exhausted(subnet, last - first + 1n);
            subnet.limit += blockSize;
        }
    }

    /**
     * Throws if no address is known to be free and some are of unknown state: the search must not advance to further
     * blocks for that.
     */
    #searchTo(subnet: Subnet, first: bigint, last: bigint): bigint | undefined {
        const start = subnet.cursor < first || subnet.cursor > last ? first : subnet.cursor;
        let unknown: bigint | undefined;
        let index = start;
        do {
            const isTaken = subnet.used.has(index) || this.#isTaken(prefixAt(subnet.prefix, index));
            if (isTaken === false) return index;
            if (isTaken === undefined) unknown ??= index;
            index = index === last ? first : index + 1n;
        } while (index !== start);
        if (unknown !== undefined) throw allocationsUnknown(subnet, unknown);
        return undefined;
    }
}

/**
 * The owner name in NodeSubnet of addresses held for a Pod because the API server reports them in its status:
 * `pod/UID`.
 */
export function heldOwner(podUid: string): string {
    return `pod/${podUid}`;
}

function allocationsUnknown({ prefix }: Subnet, index: bigint): NodeSubnetError {
    return new NodeSubnetError(
        "ALLOCATIONS_UNKNOWN",
        "environment",
        `whether address ${formatIp(prefixAt(prefix, index))} of ${formatPrefix(prefix)}, the podCIDR of this Node, is allocated from an ` +
            `IPPool is not known yet, and all others are in use; the agent reads the allocations, and the next try may succeed`,
    );
}

function smaller(a: bigint, b: bigint): bigint {
    return a < b ? a : b;
}

function exhausted({ prefix, gateway }: Subnet, total: bigint): NodeSubnetError {
    return new NodeSubnetError(
        "EXHAUSTED",
        "environment",
        `no free address in ${formatPrefix(prefix)}, the podCIDR of this Node: all ${total} are in use (gateway ${formatIp(gateway)}); ` +
            `delete Pods on this Node or give Nodes larger podCIDRs`,
    );
}

/** The indexes that may be handed out: after network address and gateway, before IPv4's broadcast address. */
function bounds(prefix: Prefix): { readonly first: bigint; readonly last: bigint } {
    const size = prefixSize(prefix);
    return { first: 2n, last: prefix.family === 4 ? size - 2n : size - 1n };
}

/**
 * The gateway of the podCIDR that contains an address with this prefix length: its first address after the network
 * address.
 */
export function gatewayOf(ip: IpAddress, prefixLength: number): IpAddress {
    return prefixAt(prefixOf(ip, prefixLength), 1n);
}
