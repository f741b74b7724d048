import { callerError } from "../errors.ts";
import { type SubField } from "../match.ts";
import { ones } from "../match/canonical.ts";

/**
 * Returns the value if it is an integer from 0 that fits into `bits` bits. Throws `OpenFlowError` `BAD_VALUE`
 * otherwise.
 */
export function checkUint(value: number, bits: 8 | 16 | 32, name: string): number {
    if (Number.isInteger(value) && value >= 0 && value < 2 ** bits) return value;
    throw callerError("BAD_VALUE", `${name}: ${value} is no integer from 0 to ${2 ** bits - 1}`);
}

/** Returns the value if it is not negative and fits into 64 bits. Throws `OpenFlowError` `BAD_VALUE` otherwise. */
export function checkUint64(value: bigint, name: string): bigint {
    if (value >= 0n && value < 1n << 64n) return value;
    throw callerError("BAD_VALUE", `${name}: ${value} does not fit into 64 bits`);
}

/**
 * Returns the constant if it is an integer from 0 that fits into the bits of its target, which must have passed
 * `checkedSubField`. Throws `OpenFlowError` `BAD_VALUE` otherwise; `name` begins its message.
 */
export function checkConstant(value: number | bigint, { field, bits }: SubField, name: string): bigint {
    if (typeof value === "bigint" || Number.isInteger(value)) {
        const constant = BigInt(value);
        if (constant >= 0n && constant <= ones(bits)) return constant;
    }
    throw callerError("BAD_VALUE", `${name}: ${value} does not fit into ${bits} bits of ${field}`);
}

/**
 * A port in the 16 bits of Nicira's actions, in which the reserved ports keep their lowest digits. Throws
 * `OpenFlowError` `BAD_VALUE` for other ports above 65279.
 */
export function port16(port: number, name: string): number {
    checkUint(port, 32, name);
    if (port < 0xff00) return port;
    if (port >= 0xffffff00) return port & 0xffff;
    throw callerError("BAD_VALUE", `${name}: port ${port} does not fit, at most 65279 or a reserved port`);
}

/** The 32-bit port of a 16-bit one, which is not checked: the inverse of `port16`. */
export function port32(port: number): number {
    return port >= 0xff00 ? 0xffff0000 + port : port;
}
