import { callerError } from "../errors.ts";
import { fieldSpec, type FieldName, type FieldSpec } from "../fields.ts";
import { type FieldValue, type Match } from "../match.ts";

/** One field of a match with its value; without a mask every bit counts. */
export interface MatchEntry {
    readonly field: FieldSpec;
    readonly value: bigint;
    readonly mask: bigint | undefined;
}

const vlanPresent = 0x1000n;

/**
 * The entries of a match as a switch keeps them: checked, exact masks and empty masks dropped, wide registers taken
 * apart into `reg`, `vlan_tci` into `vlan_vid` and `vlan_pcp`, in the order of the wire. Two matches are equal when
 * these are.
 */
export function canonicalMatch(match: Match): readonly MatchEntry[] {
    const entries = new Map<FieldName, MatchEntry>();
    for (const [name, given] of Object.entries(match) as [FieldName, FieldValue | undefined][]) {
        if (given === undefined) continue;
        for (const entry of parts(checkedEntry(name, given))) {
            if (entry.mask === 0n) continue;
            const known = entries.get(entry.field.name);
            if (known !== undefined) {
                throw callerError(
                    "BAD_FIELD",
                    `match: ${name} covers ${entry.field.name}, which is given a second time`,
                );
            }
            entries.set(entry.field.name, entry);
        }
    }
    return [...entries.values()].sort((a, b) => a.field.order - b.field.order);
}

/** Canonical text of a match: the same for two matches exactly when a switch takes them for the same. */
export function matchKey(match: Match): string {
    return canonicalMatch(match)
        .map(
            ({ field, value, mask }) =>
                `${field.name}=${value.toString(16)}${mask === undefined ? "" : `/${mask.toString(16)}`}`,
        )
        .join(",");
}

/** All `bits` bits set. */
export function ones(bits: number): bigint {
    return (1n << BigInt(bits)) - 1n;
}

/** A value and mask checked against the width of their field; a mask of all bits becomes none. */
export function checkedEntry(name: FieldName, given: FieldValue): MatchEntry {
    const field = fieldSpec(name);
    const all = ones(field.bits);
    const masked = typeof given === "object";
    const value = toBits(masked ? given.value : given, field);
    const mask = masked ? toBits(given.mask, field) : all;
    if ((value & ~mask) !== 0n) {
        throw callerError(
            "BAD_VALUE",
            `${name}: value 0x${value.toString(16)} has bits outside its mask 0x${mask.toString(16)}`,
        );
    }
    if (mask === all) return { field, value, mask: undefined };
    if (!field.maskable && mask !== 0n) {
        throw callerError("BAD_VALUE", `${name} takes no mask, got 0x${mask.toString(16)}; give the exact value`);
    }
    return { field, value, mask };
}

function toBits(value: number | bigint, field: FieldSpec): bigint {
    if (typeof value === "number" && !Number.isSafeInteger(value)) {
        throw callerError("BAD_VALUE", `${field.name}: ${value} is no integer; above 2^53 use a bigint`);
    }
    const bits = BigInt(value);
    if (bits < 0n || bits > ones(field.bits)) {
        throw callerError("BAD_VALUE", `${field.name}: ${value} does not fit into ${field.bits} bits`);
    }
    return bits;
}

function parts(entry: MatchEntry): readonly MatchEntry[] {
    const { name } = entry.field;
    if (name.startsWith("xxreg")) return registers(entry, Number(name.slice(5)) * 4, 4);
    if (name.startsWith("xreg")) return registers(entry, Number(name.slice(4)) * 2, 2);
    if (name === "vlan_tci") return vlanParts(entry);
    return [entry];
}

function registers(entry: MatchEntry, first: number, count: number): readonly MatchEntry[] {
    const mask = entry.mask ?? ones(entry.field.bits);
    return Array.from({ length: count }, (_, index) => {
        const shift = BigInt((count - 1 - index) * 32);
        const part = (bits: bigint): bigint => (bits >> shift) & 0xffffffffn;
        return checkedEntry(`reg${first + index}` as FieldName, { value: part(entry.value), mask: part(mask) });
    });
}

function vlanParts({ value, mask = 0xffffn }: MatchEntry): readonly MatchEntry[] {
    const vid = checkedEntry("vlan_vid", { value: value & 0x1fffn, mask: mask & 0x1fffn });
    // A frame without a tag has no priority: OpenFlow says so with vlan_vid 0 alone.
    if ((value & mask & vlanPresent) === 0n && value >> 13n === 0n && (mask & vlanPresent) !== 0n) return [vid];
    return [vid, checkedEntry("vlan_pcp", { value: value >> 13n, mask: mask >> 13n })];
}
