import { callerError } from "../errors.ts";
import { fieldList, fieldSpec, type FieldName, type FieldSpec } from "../fields.ts";
import { type FieldValue, type Match } from "../match.ts";

/** One field of a match with its value, whose bits outside the mask are 0; without a mask every bit is compared. */
export interface MatchEntry {
    readonly field: FieldSpec;
    readonly value: bigint;
    readonly mask: bigint | undefined;
}

const vlanPresent = 0x1000n;

/**
 * The entries of a match as a switch keeps them: checked, masks of all bits and empty masks dropped, wide registers
 * split into `reg`, `vlan_tci` into `vlan_vid` and `vlan_pcp`, in the order of the wire. Two matches are equal when
 * these are. Throws `OpenFlowError`: `BAD_FIELD` for a field that is unknown or given twice, `BAD_VALUE` for a value or
 * mask that does not fit.
 */
export function canonicalMatch(match: Match): readonly MatchEntry[] {
    const entries: MatchEntry[] = [];
    for (const name of Object.keys(match) as FieldName[]) {
        const given = match[name];
        if (given === undefined) continue;
        for (const part of partsOf(checkedEntry(name, given))) insert(entries, part, name);
    }
    return entries;
}

/**
 * A checked entry as `canonicalMatch` has it: none for an empty mask, and several in the order of the wire for wide
 * registers and `vlan_tci`. Throws `OpenFlowError` `BAD_VALUE` for a `vlan_tci` of which a part is not valid.
 */
export function partsOf(entry: MatchEntry): readonly MatchEntry[] {
    const split = splitters.get(entry.field.name);
    if (split === undefined) return entry.mask === 0n ? [] : [entry];
    return split(entry).filter(({ mask }) => mask !== 0n);
}

/** Keeps the entries in the order of the wire, in which most matches are written already. */
function insert(entries: MatchEntry[], entry: MatchEntry, name: FieldName): void {
    let at = entries.length;
    while (at > 0 && orderAt(entries, at - 1) >= entry.field.order) at -= 1;
    if (orderAt(entries, at) === entry.field.order) {
        throw callerError("BAD_FIELD", `match: ${name} covers ${entry.field.name}, which is given a second time`);
    }
    if (at === entries.length) entries.push(entry);
    else entries.splice(at, 0, entry);
}

function orderAt(entries: readonly MatchEntry[], index: number): number {
    return entries[index]?.field.order ?? -1;
}

/**
 * Canonical text of a match: equal for two matches exactly when a switch treats them as the same. Throws as
 * `canonicalMatch` does.
 */
export function matchKey(match: Match): string {
    return canonicalMatch(match)
        .map(
            ({ field, value, mask }) =>
                `${field.name}=${value.toString(16)}${mask === undefined ? "" : `/${mask.toString(16)}`}`,
        )
        .join(",");
}

/** The number whose lowest `bits` bits are set. */
export function ones(bits: number): bigint {
    return (1n << BigInt(bits)) - 1n;
}

/**
 * Checks a value and mask against the width of their field; a mask of all bits becomes none. Throws `OpenFlowError`
 * `BAD_FIELD` for an unknown field, `BAD_VALUE` for a value that does not fit it or has bits outside its mask, and for
 * a mask on a field that takes none.
 */
export function checkedEntry(name: FieldName, given: FieldValue): MatchEntry {
    const field = fieldSpec(name);
    if (typeof given !== "object") return { field, value: toBits(given, field), mask: undefined };
    const value = toBits(given.value, field);
    const mask = toBits(given.mask, field);
    if ((value & ~mask) !== 0n) {
        throw callerError(
            "BAD_VALUE",
            `${name}: value 0x${value.toString(16)} has bits outside its mask 0x${mask.toString(16)}`,
        );
    }
    if (mask === field.all) return { field, value, mask: undefined };
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
    if (bits < 0n || bits > field.all) {
        throw callerError("BAD_VALUE", `${field.name}: ${value} does not fit into ${field.bits} bits`);
    }
    return bits;
}

/** Splits of the fields that are written as several others. */
const splitters: ReadonlyMap<FieldName, (entry: MatchEntry) => readonly MatchEntry[]> = new Map([
    ...fieldList.flatMap(({ name }) => {
        const wide = /^(x+)reg(\d+)$/.exec(name);
        if (wide === null) return [];
        const count = wide[1] === "xx" ? 4 : 2;
        return [[name, (entry: MatchEntry) => registers(entry, Number(wide[2]) * count, count)] as const];
    }),
    ["vlan_tci", vlanParts] as const,
]);

function registers(entry: MatchEntry, first: number, count: number): readonly MatchEntry[] {
    const mask = entry.mask ?? entry.field.all;
    return Array.from({ length: count }, (_, index) => {
        const shift = BigInt((count - 1 - index) * 32);
        const part = (bits: bigint): bigint => (bits >> shift) & 0xffffffffn;
        return checkedEntry(`reg${first + index}` as FieldName, { value: part(entry.value), mask: part(mask) });
    });
}

function vlanParts({ value, mask = 0xffffn }: MatchEntry): readonly MatchEntry[] {
    const vid = checkedEntry("vlan_vid", { value: value & 0x1fffn, mask: mask & 0x1fffn });
    // A frame without a tag has no priority: OpenFlow matches it with vlan_vid 0 alone.
    if ((value & mask & vlanPresent) === 0n && value >> 13n === 0n && (mask & vlanPresent) !== 0n) return [vid];
    return [vid, checkedEntry("vlan_pcp", { value: value >> 13n, mask: mask >> 13n })];
}
