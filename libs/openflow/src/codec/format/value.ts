import { formatIp, formatMac, macFromBigint } from "@antrea/ip";
import { CtState } from "../fields.ts";
import { ones, type MatchEntry } from "../match/canonical.ts";
import { Port } from "../port.ts";

/**
 * The value of a match entry as ovs-ofctl writes it, by `FieldSpec.format`: `value/mask` if masked (both hexadecimal
 * for `decimal`), addresses with a prefix length if the mask is one. Masked `ct_state` and `tcp_flags` are `+est-rel`,
 * `frag` is a word (`later`), with hexadecimal for bits without a name. A port and a packet type have no mask.
 */
export function formatValue({ field, value, mask }: MatchEntry): string {
    switch (field.format) {
        case "port":
            return formatPort(Number(value));
        case "mac":
            return withMask(value, mask, (bits) => formatMac(macFromBigint(bits)));
        case "ipv4":
            return formatAddress(value, mask, 4);
        case "ipv6":
            return formatAddress(value, mask, 6);
        case "ct_state":
            return mask === undefined ? hex(value) : formatFlags(value, mask, ctStateNames);
        case "tcp_flags":
            return mask === undefined ? hex(value) : formatFlags(value, mask, tcpFlagNames);
        case "frag":
            return fragNames.get(`${value}/${mask ?? ""}`) ?? withMask(value, mask, hex);
        case "packet_type":
            return `(${value >> 16n},${hex(value & 0xffffn)})`;
        case "decimal":
            return mask === undefined ? value.toString() : withMask(value, mask, hex);
        case "hex":
            return withMask(value, mask, hex);
    }
}

/** A port by its reserved name, the key of `Port` (`LOCAL`, `CONTROLLER`), or as a decimal number. */
export function formatPort(port: number): string {
    return portNames.get(port) ?? port.toString();
}

/** A number as `0x` and lower-case hexadecimal digits. */
export function hex(value: bigint | number): string {
    return `0x${value.toString(16)}`;
}

function withMask(value: bigint, mask: bigint | undefined, format: (bits: bigint) => string): string {
    return mask === undefined ? format(value) : `${format(value)}/${format(mask)}`;
}

function formatAddress(value: bigint, mask: bigint | undefined, family: 4 | 6): string {
    const text = formatIp({ family, value });
    if (mask === undefined) return text;
    const bits = family === 4 ? 32 : 128;
    const host = ones(bits) ^ mask;
    // A prefix: the zeros of the mask are all at its end.
    if ((host & (host + 1n)) === 0n) return `${text}/${bits - host.toString(2).replace(/^0$/, "").length}`;
    return `${text}/${formatIp({ family, value: mask })}`;
}

function formatFlags(value: bigint, mask: bigint, names: readonly (readonly [string, bigint])[]): string {
    const known = names.reduce((bits, [, bit]) => bits | bit, 0n);
    if ((mask & ~known) !== 0n) return `${hex(value)}/${hex(mask)}`;
    return names
        .filter(([, bit]) => (mask & bit) !== 0n)
        .map(([name, bit]) => `${(value & bit) === 0n ? "-" : "+"}${name}`)
        .join("");
}

const portNames: ReadonlyMap<number, string> = new Map(Object.entries(Port).map(([name, port]) => [port, name]));
const ctStateNames = Object.entries(CtState).map(([name, bit]) => [name, BigInt(bit)] as const);
const tcpFlagNames = ["fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr", "ns"].map(
    (name, index) => [name, 1n << BigInt(index)] as const,
);
const fragNames: ReadonlyMap<string, string> = new Map([
    ["0/", "no"],
    ["1/", "first"],
    ["3/", "later"],
    ["1/1", "yes"],
    ["0/2", "not_later"],
]);
