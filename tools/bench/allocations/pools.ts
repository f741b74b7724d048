import { type IpPool } from "@antrea/crd";
import { formatIp } from "@antrea/ip";

/** Addresses of a pool: 64 blocks. */
export const poolSize = 16_384;
const poolBase = 0x0a40_0000; // 10.64.0.0

/** A pool of the benchmark. */
export interface StagePool {
    readonly name: string;
    /** The first address as a number. */
    readonly first: number;
}

/** The blocks of a pool as text. */
export function blocksOfPool({ first }: StagePool): readonly string[] {
    return Array.from({ length: poolSize >> 8 }, (_, index) => `${addressText(first + (index << 8))}/24`);
}

/** The IPPool object. */
export function poolOf({ name, first }: StagePool): IpPool {
    const [start, end] = [addressText(first), addressText(first + poolSize - 1)];
    const range = { start, end, gateway: "10.127.255.254", prefixLength: 10 };
    return { metadata: { name }, spec: { ipVersion: 4, ipRanges: [range] } };
}

function addressText(value: number): string {
    return formatIp({ family: 4, value: BigInt(value) });
}

/** The pool with this number; pools do not overlap. */
export function poolAt(index: number): StagePool {
    return { name: `bench-${index}`, first: poolBase + index * poolSize };
}
