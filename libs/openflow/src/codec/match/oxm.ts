import { messageOf } from "@antrea/errors";
import { concatBytes } from "@antrea/ip";
import { peerError } from "../errors.ts";
import { fieldByHeader, fieldSpec, type FieldName, type FieldSpec } from "../fields.ts";
import { type FieldValue, type Match } from "../match.ts";
import { type Reader } from "../wire/reader.ts";
import { type Writer } from "../wire/writer.ts";
import { canonicalMatch, partsOf, type MatchEntry } from "./canonical.ts";

const oxmMatchType = 1;
const experimenterClass = 0xffff;

/**
 * A match as read: `opaque` holds the bytes of the OXM fields that this codec does not know, unchanged; absent if it
 * knows all.
 */
export interface DecodedMatch {
    readonly match: Match;
    readonly opaque?: Uint8Array;
}

/**
 * Writes `ofp_match` (OpenFlow 1.5 section 7.2.3), padded to 8 bytes, with registers in pairs (OXM_OF_PKT_REG), as the
 * switch sends them. Throws as `canonicalMatch` does.
 */
export function writeMatch(writer: Writer, match: Match): void {
    const start = writer.length;
    writer.u16(oxmMatchType);
    writer.u16(0);
    for (const entry of pairRegisters(canonicalMatch(match))) writeOxm(writer, entry);
    // The length does not count the padding.
    writer.patchU16(start + 2, writer.length - start);
    writer.pad8(start);
}

/**
 * Writes one OXM field (OpenFlow 1.5 section 7.2.3): header, value and, if it has one, mask. Checks nothing: the entry
 * comes from `canonicalMatch` or `checkedEntry`.
 */
export function writeOxm(writer: Writer, { field, value, mask }: MatchEntry): void {
    writer.u16(field.oxmClass);
    writer.u8((field.oxmField << 1) | (mask === undefined ? 0 : 1));
    writer.u8(mask === undefined ? field.bytes : field.bytes * 2);
    writer.uint(value, field.bytes);
    if (mask !== undefined) writer.uint(mask, field.bytes);
}

/**
 * Reads `ofp_match` (OpenFlow 1.5 section 7.2.3) with its padding, as `readOxms`. Throws `OpenFlowError` `SHORT` or
 * `MALFORMED`.
 */
export function readMatch(reader: Reader): DecodedMatch {
    const start = reader.offset;
    const type = reader.u16();
    const length = reader.u16();
    if (type !== oxmMatchType) reader.fail(`match type ${type}, only ${oxmMatchType} (OXM) is allowed`);
    if (length < 4) reader.fail(`match length ${length}, at least 4`);
    const decoded = readOxms(reader.sub(length - 4, "match"));
    reader.skip((8 - ((reader.offset - start) % 8)) % 8);
    return decoded;
}

/**
 * Reads OXM fields up to the end of the reader: the body of a match, or the metadata of a packet-in. They are split, and
 * empty masks dropped, as by `canonicalMatch`, in the order of arrival. Throws `OpenFlowError` `SHORT` or `MALFORMED`,
 * the latter also for a field that comes twice.
 */
export function readOxms(reader: Reader): DecodedMatch {
    const match: Partial<Record<FieldName, FieldValue>> = {};
    const opaque: Uint8Array[] = [];
    const set = (entry: MatchEntry): void => {
        if (entry.field.name in match) reader.fail(`${entry.field.name} comes twice`);
        match[entry.field.name] = fieldValue(entry);
    };
    while (reader.remaining > 0) {
        const entry = readOxm(reader);
        if (entry instanceof Uint8Array) opaque.push(entry);
        else for (const part of readParts(reader, entry)) set(part);
    }
    return opaque.length === 0 ? { match } : { match, opaque: concatBytes(opaque) };
}

/** The entry as `canonicalMatch` has it: it also splits the packed registers of the wire. */
function readParts(reader: Reader, entry: MatchEntry): readonly MatchEntry[] {
    try {
        return partsOf(entry);
    } catch (error) {
        // A part of the priority in vlan_tci, which no caller has written.
        return reader.fail(`${entry.field.name}: ${messageOf(error)}`);
    }
}

/**
 * Reads one OXM field; returns a copy of its bytes when this codec does not know it. Throws `OpenFlowError` `SHORT` or
 * `MALFORMED`.
 */
export function readOxm(reader: Reader): MatchEntry | Uint8Array {
    const oxmClass = reader.u16();
    const fieldAndMask = reader.u8();
    const length = reader.u8();
    const masked = (fieldAndMask & 1) === 1;
    const field = oxmClass === experimenterClass ? undefined : fieldByHeader(oxmClass, fieldAndMask >> 1);
    if (field === undefined) {
        const payload = reader.bytes(length);
        return Uint8Array.from([oxmClass >> 8, oxmClass & 0xff, fieldAndMask, length, ...payload]);
    }
    const width = masked ? length / 2 : length;
    if (width !== field.bytes) {
        reader.fail(`${field.name} has ${field.bytes} bytes${masked ? " and as many of mask" : ""}, got ${length}`);
    }
    const value = reader.uint(width);
    const mask = masked ? reader.uint(width) : undefined;
    return checkWire(reader, field, value, mask);
}

function checkWire(reader: Reader, field: FieldSpec, value: bigint, mask: bigint | undefined): MatchEntry {
    const { all } = field;
    if (value > all) reader.fail(`${field.name}: 0x${value.toString(16)} does not fit into ${field.bits} bits`);
    if (mask === undefined) return { field, value, mask };
    // Some senders set bits of the mask above the field; they have no meaning.
    const effective = mask & all;
    if ((value & ~effective) !== 0n) reader.fail(`${field.name}: value has bits outside its mask`);
    if (effective === all) return { field, value, mask: undefined };
    if (!field.maskable && effective !== 0n) reader.fail(`${field.name} takes no mask`);
    return { field, value, mask: effective };
}

/**
 * The value of an entry as `Match` has it: numbers for fields up to 32 bits, bigint above; with a mask, an object of
 * both.
 */
export function fieldValue({ field, value, mask }: MatchEntry): FieldValue {
    const plain = (bits: bigint): number | bigint => (field.bits <= 32 ? Number(bits) : bits);
    return mask === undefined ? plain(value) : { value: plain(value), mask: plain(mask) };
}

/** The wire of OpenFlow 1.5 carries registers in pairs (OXM_OF_PKT_REG). */
function pairRegisters(entries: readonly MatchEntry[]): readonly MatchEntry[] {
    const out: MatchEntry[] = [];
    const pairs = new Map<number, { value: bigint; mask: bigint; at: number }>();
    for (const entry of entries) {
        const register = registerNumber(entry.field.name);
        if (register === undefined) {
            out.push(entry);
            continue;
        }
        const shift = register % 2 === 0 ? 32n : 0n;
        const pair = pairs.get(register >> 1) ?? { value: 0n, mask: 0n, at: out.push(entry) - 1 };
        pair.value |= entry.value << shift;
        pair.mask |= (entry.mask ?? 0xffffffffn) << shift;
        pairs.set(register >> 1, pair);
    }
    for (const [index, { value, mask, at }] of pairs) {
        const field = fieldSpec(`xreg${index}` as FieldName);
        out[at] = { field, value, mask: mask === field.all ? undefined : mask };
    }
    return out;
}

function registerNumber(name: FieldName): number | undefined {
    return name.startsWith("reg") ? Number(name.slice(3)) : undefined;
}

/**
 * The match, if this codec knows all its fields; for messages whose meaning depends on every field. Throws
 * `OpenFlowError` `MALFORMED` otherwise; `what` begins its message.
 */
export function wholeMatch(decoded: DecodedMatch, what: string): Match {
    if (decoded.opaque !== undefined) {
        throw peerError("MALFORMED", `${what}: the match has a field that this codec does not know`, {
            field: decoded.opaque.slice(0, 4),
        });
    }
    return decoded.match;
}
