import { checkUint64 } from "../action/check.ts";
import { fieldByHeader, type FieldName, type FieldSpec } from "../fields.ts";
import { type GroupSelection, type SelectionField } from "../group.ts";
import { checkedEntry, ones, type MatchEntry } from "../match/canonical.ts";
import { writeOxm } from "../match/oxm.ts";
import { callerError } from "../errors.ts";
import { type Reader } from "../wire/reader.ts";
import { type Writer } from "../wire/writer.ts";

/** The only property of a group that Open vSwitch knows: NTRT_SELECTION_METHOD of Netronome. */
const experimenterProperty = 0xffff;
const netronome = 0x0000154d;
const selectionMethod = 1;
const methodBytes = 16;

/**
 * Writes the selection method of a group (`ntr_group_prop_selection_method`), fields in the order of the wire. Throws
 * `OpenFlowError` `BAD_FIELD` or `BAD_VALUE`.
 */
export function writeSelection(writer: Writer, selection: GroupSelection): void {
    const start = writer.length;
    writer.u16(experimenterProperty);
    writer.u16(0);
    writer.u32(netronome);
    writer.u32(selectionMethod);
    writer.zeros(4);
    writer.bytes(new TextEncoder().encode(selection.method));
    writer.zeros(methodBytes - selection.method.length);
    writer.u64(checkUint64(selection.param ?? 0n, "selection.param"));
    const fields = selection.method === "hash" ? (selection.fields ?? []) : [];
    // The mask is in the place of the value; that of all bits covers the whole bytes.
    for (const { field, mask } of entriesOf(fields)) {
        writeOxm(writer, { field, value: mask ?? ones(field.bytes * 8), mask: undefined });
    }
    writer.patchU16(start + 2, writer.length - start);
    writer.pad8(start);
}

function entriesOf(fields: readonly SelectionField[]): readonly MatchEntry[] {
    const entries = fields.map(({ field, mask }) => {
        const entry = checkedEntry(field, mask === undefined ? 0 : { value: 0, mask });
        if (entry.mask === 0n)
            throw callerError("BAD_VALUE", `selection: the mask of ${field} is 0, so it selects nothing`);
        return entry;
    });
    const twice = entries.find(({ field }, index) => entries.findIndex((other) => other.field === field) !== index);
    if (twice !== undefined) throw callerError("BAD_FIELD", `selection: ${twice.field.name} is given a second time`);
    return entries.sort((a, b) => a.field.order - b.field.order);
}

/**
 * Reads the properties of a group up to the end of the reader: its selection method, if it has one. Throws
 * `OpenFlowError` `SHORT` or `MALFORMED`, the latter also for a property, a method or a field that this codec does not
 * know.
 */
export function readSelection(reader: Reader): GroupSelection | undefined {
    let selection: GroupSelection | undefined;
    while (reader.remaining > 0) {
        const type = reader.u16();
        const length = reader.u16();
        if (length < 4) reader.fail(`group: property of length ${length}, at least 4`);
        const body = reader.sub(length - 4, "group property");
        if (selection !== undefined) body.fail("a second selection method");
        if (type !== experimenterProperty) body.fail(`unknown type ${type}`);
        selection = readMethod(body);
        reader.skip((8 - (length % 8)) % 8);
    }
    return selection;
}

function readMethod(body: Reader): GroupSelection {
    const [vendor, kind] = [body.u32(), body.u32()];
    if (vendor !== netronome || kind !== selectionMethod) {
        body.fail(`unknown property ${kind} of experimenter 0x${vendor.toString(16)}`);
    }
    body.skip(4);
    const text = body.bytes(methodBytes);
    const method = new TextDecoder().decode(text.subarray(0, text.indexOf(0)));
    const param = body.u64();
    const given = param === 0n ? {} : { param };
    if (method === "hash") {
        const fields = readFields(body);
        return { method, ...given, ...(fields.length === 0 ? {} : { fields }) };
    }
    if (method !== "dp_hash") return body.fail(`unknown selection method ${JSON.stringify(method)}`);
    if (body.remaining > 0) body.fail("dp_hash with fields");
    return { method, ...given };
}

function readFields(body: Reader): SelectionField[] {
    const seen = new Set<FieldName>();
    const fields: SelectionField[] = [];
    while (body.remaining > 0) {
        const oxmClass = body.u16();
        const field = fieldByHeader(oxmClass, body.u8() >> 1);
        const length = body.u8();
        if (field === undefined || length !== field.bytes) return body.fail("a field that this codec does not know");
        const mask = body.uint(length) & field.all;
        if (mask === 0n || seen.has(field.name)) body.fail(`field ${field.name} without bits, or a second time`);
        seen.add(field.name);
        fields.push({ field: field.name, ...maskOf(field, mask) });
    }
    return fields;
}

function maskOf({ all, bits }: FieldSpec, mask: bigint): Pick<SelectionField, "mask"> {
    return mask === all ? {} : { mask: bits <= 32 ? Number(mask) : mask };
}
