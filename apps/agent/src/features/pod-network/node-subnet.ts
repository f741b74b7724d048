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

export type NodeSubnetErrorCode = "CLAIMS_UNKNOWN" | "EXHAUSTED" | "NO_SUBNET" | "TAKEN";

export class NodeSubnetError extends AntreaError<NodeSubnetErrorCode> {}

interface Subnet {
    readonly prefix: Prefix;
    readonly gateway: IpAddress;
    /** Indexes inside the prefix. */
    readonly used: Map<bigint, string>;
    cursor: bigint;
    /** Only indexes below are handed out; grows by blocks. */
    limit: bigint;
}

/** Addresses of a block, as the claims of IPPools are watched. */
const blockSize = 256n;

/**
 * Gives out the addresses of this Node's podCIDRs. It keeps nothing itself: what it knows is told to it from the
 * records of the interfaces. Never handed out are the network address (and IPv6's subnet-router anycast address,
 * RFC 4291 2.6.1), the gateway, and IPv4's broadcast address. The addresses are of the first block, and of the next only
 * when all of those before are in use: so the claims that concern a Node are those of few blocks, however large its podCIDR.
 * In them the search goes on from the last address given, so that a freed one is used again as late as possible.
 */
export class NodeSubnet {
    readonly #subnets: readonly Subnet[];

    readonly #isTaken: (ip: IpAddress) => boolean | undefined;

    /**
     * @param start index to begin at, a family; a different one after each start keeps reuse late across restarts
     * @param isTaken whether somebody outside this Node has an address of its podCIDRs; undefined while that is not known,
     * and then to be asked again
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
     * One free address of each family for the owner, or none at all. Throws NodeSubnetError.
     *
     * @param heldBy an owner whose addresses become those of the new one, where it has any: see `heldOwner`
     */
    allocate(owner: string, heldBy?: string): readonly PodAddress[] {
        if (this.#subnets.length === 0)
            throw new NodeSubnetError("NO_SUBNET", "environment", "this Node has no podCIDR");
        const found = this.#subnets.map((subnet) => this.#held(subnet, heldBy) ?? this.#search(subnet));
        return found.map((index, position) => {
            // `#search` threw before anything was taken if one family had no address
            const subnet = this.#subnets[position] as Subnet;
            // What was held does not move the search: a freed address is to be used again as late as possible.
            if (subnet.used.get(index) === undefined) subnet.cursor = index + 1n;
            subnet.used.set(index, owner);
            return { ip: prefixAt(subnet.prefix, index), prefixLength: subnet.prefix.length, gateway: subnet.gateway };
        });
    }

    /** Throws NodeSubnetError when somebody outside this Node has got one of the addresses since they were allocated. */
    refuseTaken(addresses: readonly PodAddress[]): void {
        const taken = addresses.find(({ ip }) => this.contains(ip) && this.#isTaken(ip) === true);
        if (taken === undefined) return;
        throw new NodeSubnetError(
            "TAKEN",
            "environment",
            `address ${formatIp(taken.ip)} of this Node's podCIDR was claimed from an IPPool while the Pod was set up; the next try takes another one`,
        );
    }

    /** Notes that an address is in use. False when another owner has it: a caller must not go on with it then. */
    take(ip: IpAddress, owner: string): boolean {
        const subnet = this.#subnetOf(ip);
        if (subnet === undefined) return true;
        const index = prefixIndexOf(subnet.prefix, ip);
        const holder = subnet.used.get(index);
        if (holder !== undefined && holder !== owner) return false;
        subnet.used.set(index, owner);
        return true;
    }

    /** Frees an address if this owner has it; anything else is left alone. */
    release(ip: IpAddress, owner: string): void {
        const subnet = this.#subnetOf(ip);
        if (subnet === undefined) return;
        const index = prefixIndexOf(subnet.prefix, ip);
        if (subnet.used.get(index) === owner) subnet.used.delete(index);
    }

    /** Who has the address. */
    ownerOf(ip: IpAddress): string | undefined {
        const subnet = this.#subnetOf(ip);
        return subnet?.used.get(prefixIndexOf(subnet.prefix, ip));
    }

    /** Those in use, and those that are held. */
    addresses(): readonly IpAddress[] {
        return this.#subnets.flatMap(({ prefix, used }) => [...used.keys()].map((index) => prefixAt(prefix, index)));
    }

    /** True when the address lies in one of the Node's podCIDRs. */
    contains(ip: IpAddress): boolean {
        return this.#subnetOf(ip) !== undefined;
    }

    /** Addresses in use and in all, a family. */
    usage(): readonly { readonly prefix: Prefix; readonly used: number; readonly total: bigint }[] {
        return this.#subnets.map((subnet) => {
            const { first, last } = bounds(subnet.prefix);
            return { prefix: subnet.prefix, used: subnet.used.size, total: last < first ? 0n : last - first + 1n };
        });
    }

    #subnetOf(ip: IpAddress): Subnet | undefined {
        return this.#subnets.find((subnet) => prefixContains(subnet.prefix, ip));
    }

    /** Throws while nobody can tell whether it is claimed: a Pod that runs is not to lose its address for that. */
    #held(subnet: Subnet, owner: string | undefined): bigint | undefined {
        if (owner === undefined) return undefined;
        for (const [index, holder] of subnet.used) {
            if (holder !== owner) continue;
            const isTaken = this.#isTaken(prefixAt(subnet.prefix, index));
            if (isTaken === undefined) throw claimsUnknown(subnet, index);
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

    /** Throws rather than passes over what is not known: the search is not to go from block to block for that. */
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
        if (unknown !== undefined) throw claimsUnknown(subnet, unknown);
        return undefined;
    }
}

/** The owner of addresses that are held for a Pod because the API server says that it has them. */
export function heldOwner(podUid: string): string {
    return `pod/${podUid}`;
}

function claimsUnknown({ prefix }: Subnet, index: bigint): NodeSubnetError {
    return new NodeSubnetError(
        "CLAIMS_UNKNOWN",
        "environment",
        `whether address ${formatIp(prefixAt(prefix, index))} of ${formatPrefix(prefix)}, the podCIDR of this Node, is claimed from an ` +
            `IPPool is not known yet, and those whose claims are known are in use; the agent asks the API server, and the next try may find out`,
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

/** The gateway of the podCIDR that an address with this prefix length lies in. */
export function gatewayOf(ip: IpAddress, prefixLength: number): IpAddress {
    return prefixAt(prefixOf(ip, prefixLength), 1n);
}
