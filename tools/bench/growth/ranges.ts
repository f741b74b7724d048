import { type IpPool } from "@antrea/crd";
import { formatIp } from "@antrea/ip";

/** A pool that consists of one aligned block of addresses. */
export interface SizedPool {
    readonly name: string;
    /** The first address as a number. */
    readonly first: number;
    readonly size: number;
}

const sizesBase = 0x0b00_0000; // 11.0.0.0
const largest = 20;
const countedBase = 0x0d00_0000; // 13.0.0.0
const countedSize = 256;

/** The pool of 2^`bits` addresses, from 2^0 to 2^20; pools do not overlap. */
export function poolOfBits(bits: number): SizedPool {
    return { name: `size-${bits}`, first: sizesBase + bits * 2 ** largest, size: 2 ** bits };
}

/** One of many pools of one block each. */
export function countedPool(index: number): SizedPool {
    return { name: `counted-${index}`, first: countedBase + index * countedSize, size: countedSize };
}

/** The IPPool object of a pool. */
export function objectOf({ name, first, size }: SizedPool): IpPool {
    const length = 32 - Math.log2(size);
    const range = { cidr: `${addressText(first)}/${length}`, gateway: addressText(first + 1), prefixLength: length };
    return { metadata: { name }, spec: { ipVersion: 4, ipRanges: [range] } };
}

/** The addresses that a pool assigns: without network, gateway and broadcast. */
export function usableOf({ first, size }: SizedPool): readonly number[] {
    return Array.from({ length: size - 3 }, (_, at) => first + 2 + at);
}

/** The blocks of a pool as text. */
export function blocksOf({ first, size }: SizedPool): readonly string[] {
    return Array.from({ length: size >> 8 }, (_, at) => `${addressText(first + (at << 8))}/24`);
}

function addressText(value: number): string {
    return formatIp({ family: 4, value: BigInt(value) });
}
