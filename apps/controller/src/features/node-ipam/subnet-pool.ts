import {
    familyBits,
    formatPrefix,
    prefixesOverlap,
    prefixRange,
    rangesOverlap,
    type IpRange,
    type Prefix,
} from "@antrea/ip";
import { NodeIpamError } from "./errors.ts";

const maxSubnets = 1 << 22;

/**
 * The subnets of one length in a prefix, by index. Each has a reference count: a subnet may be held by several (a
 * Service CIDR and a Node, two Nodes with the same podCIDR), and is free at 0. In memory, 4 bytes for each subnet.
 */
export class SubnetPool {
    readonly prefix: Prefix;
    /** Prefix length of the subnets, in bits. */
    readonly length: number;
    /** Number of subnets. */
    readonly size: number;
    readonly #holders: Uint32Array;
    readonly #shift: bigint;
    #free: number;
    #next = 0;

    /** Throws NodeIpamError `MASK_SIZE` if `length` does not fit the prefix, `TOO_MANY_SUBNETS` above 2^22 subnets. */
    constructor(prefix: Prefix, length: number) {
        if (length < prefix.length || length > familyBits(prefix.family)) {
            throw new NodeIpamError(
                "MASK_SIZE",
                "caller",
                `subnets of length ${length} do not fit into ${formatPrefix(prefix)}; use a length from ${prefix.length} on`,
            );
        }
        const size = 2 ** (length - prefix.length);
        if (size > maxSubnets) {
            throw new NodeIpamError(
                "TOO_MANY_SUBNETS",
                "caller",
                `${formatPrefix(prefix)} has ${size} subnets of length ${length}, more than ${maxSubnets}; use shorter subnets`,
            );
        }
        this.prefix = prefix;
        this.length = length;
        this.size = size;
        this.#shift = BigInt(familyBits(prefix.family) - length);
        this.#holders = new Uint32Array(size);
        this.#free = size;
    }

    /** Number of subnets without a holder. */
    get free(): number {
        return this.#free;
    }

    /** The subnet at which the next search begins. */
    get next(): Prefix {
        return this.#subnet(this.#next);
    }

    /** Sets where the next search begins; a prefix that is not one of the subnets is ignored. */
    set next(subnet: Prefix) {
        if (this.isSubnet(subnet)) this.#next = this.#indexOf(subnet.base);
    }

    /** Whether the prefix is exactly one of the subnets; false for another family or length. */
    isSubnet(prefix: Prefix): boolean {
        return prefix.length === this.length && prefixesOverlap(prefix, this.prefix);
    }

    /** Number of holders of the subnet (0 is free); for a wider prefix the maximum of its subnets. */
    holders(prefix: Prefix): number {
        const [from, to] = this.#touched(prefixRange(prefix));
        let most = 0;
        for (let index = from; index < to; index += 1) most = Math.max(most, this.#holders[index] ?? 0);
        return most;
    }

    /** Adds a holder to every subnet that the prefix overlaps; none if it is outside. */
    hold(prefix: Prefix): void {
        this.holdRange(prefixRange(prefix));
    }

    /** Adds a holder to every subnet that the range overlaps; none if it is outside. */
    holdRange(range: IpRange): void {
        const [from, to] = this.#touched(range);
        for (let index = from; index < to; index += 1) {
            const before = this.#holders[index] ?? 0;
            if (before === 0) this.#free -= 1;
            this.#holders[index] = before + 1;
        }
    }

    /** Reverts one `hold` of the same prefix. */
    release(prefix: Prefix): void {
        this.releaseRange(prefixRange(prefix));
    }

    /** Reverts one `holdRange` of the same range. */
    releaseRange(range: IpRange): void {
        const [from, to] = this.#touched(range);
        for (let index = from; index < to; index += 1) {
            const before = this.#holders[index] ?? 0;
            if (before === 0) continue;
            this.#holders[index] = before - 1;
            if (before === 1) this.#free += 1;
        }
    }

    /**
     * The first free subnet after the previous result, wrapping around; undefined if none is free. Does not hold it.
     */
    findFree(): Prefix | undefined {
        if (this.#free === 0) return undefined;
        let index = this.#next;
        while (this.#holders[index] !== 0) index = index + 1 === this.size ? 0 : index + 1;
        this.#next = index + 1 === this.size ? 0 : index + 1;
        return this.#subnet(index);
    }

    #touched(range: IpRange): readonly [from: number, to: number] {
        const whole = prefixRange(this.prefix);
        if (!rangesOverlap(range, whole)) return [0, 0];
        const first = range.first > whole.first ? range.first : whole.first;
        const last = range.last < whole.last ? range.last : whole.last;
        return [this.#indexOf(first), this.#indexOf(last) + 1];
    }

    #indexOf(address: bigint): number {
        return Number((address - this.prefix.base) >> this.#shift);
    }

    #subnet(index: number): Prefix {
        const base = this.prefix.base + (BigInt(index) << this.#shift);
        return { family: this.prefix.family, base, length: this.length };
    }
}
