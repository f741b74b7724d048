import { callerError } from "../errors.ts";
import { type SubField } from "../match.ts";
import { ones } from "../match/canonical.ts";
import { checkedSubField, decodedSubField, readFieldHeader, writeNiciraHeader } from "../match/sub-field.ts";
import { type Reader } from "../wire/reader.ts";
import { type Writer } from "../wire/writer.ts";
import { checkConstant, checkUint, checkUint64 } from "./check.ts";
import { NiciraAction } from "./constants.ts";
import { beginNicira, endLongAction } from "./frame.ts";
import { type LearnAction, type LearnSource, type LearnSpec } from "./learn-action.ts";

const LearnFlag = { SEND_FLOW_REMOVED: 1, DELETE_LEARNED: 2 } as const;
const defaultPriority = 0x8000;
/** Parts of a spec's header: width in bits, kind of target, and whether the source is a constant. */
const widthMask = 0x07ff;
const immediate = 0x2000;
const kindShift = 11;
const kinds = ["match", "load", "output"] as const;

/**
 * Writes `learn`: NXAST_LEARN, or with a limit NXAST_LEARN2. Throws `OpenFlowError` `BAD_FIELD` or `BAD_VALUE`, for
 * instance when source and target have different widths, or `TOO_BIG`.
 */
export function writeLearn(writer: Writer, action: LearnAction): void {
    const limited = (action.limit ?? 0) !== 0;
    const start = beginNicira(writer, limited ? NiciraAction.LEARN2 : NiciraAction.LEARN);
    writer.u16(checkUint(action.idleTimeout ?? 0, 16, "learn.idleTimeout"));
    writer.u16(checkUint(action.hardTimeout ?? 0, 16, "learn.hardTimeout"));
    writer.u16(checkUint(action.priority ?? defaultPriority, 16, "learn.priority"));
    writer.u64(checkUint64(action.cookie ?? 0n, "learn.cookie"));
    writer.u16(
        (action.sendFlowRemoved === true ? LearnFlag.SEND_FLOW_REMOVED : 0) |
            (action.deleteLearned === true ? LearnFlag.DELETE_LEARNED : 0),
    );
    writer.u8(checkUint(action.table, 8, "learn.table"));
    writer.zeros(1);
    writer.u16(checkUint(action.finIdleTimeout ?? 0, 16, "learn.finIdleTimeout"));
    writer.u16(checkUint(action.finHardTimeout ?? 0, 16, "learn.finHardTimeout"));
    if (limited) {
        writer.u32(checkUint(action.limit ?? 0, 32, "learn.limit"));
        writer.zeros(4);
    }
    for (const spec of action.specs) writeSpec(writer, spec);
    endLongAction(writer, start, "learn");
}

function targetOf(spec: LearnSpec): SubField {
    if (spec.kind === "match") return spec.field;
    return spec.kind === "load" ? spec.to : spec.source;
}

function writeSpec(writer: Writer, spec: LearnSpec): void {
    const target = targetOf(spec);
    const field = checkedSubField(target, `learn ${spec.kind}`);
    const constant = "value" in spec.source;
    writer.u16(target.bits | (constant ? immediate : 0) | (kinds.indexOf(spec.kind) << kindShift));
    writeSource(writer, spec.source, target);
    if (spec.kind === "output") return;
    writeNiciraHeader(writer, field);
    writer.u16(target.offset);
}

function writeSource(writer: Writer, source: LearnSource, target: SubField): void {
    if ("value" in source) {
        writer.uint(checkConstant(source.value, target, "learn"), Math.ceil(target.bits / 16) * 2);
        return;
    }
    if (source.bits !== target.bits) {
        throw callerError(
            "BAD_VALUE",
            `learn: ${source.field} gives ${source.bits} bits, ${target.field} takes ${target.bits}`,
        );
    }
    writeNiciraHeader(writer, checkedSubField(source, "learn source"));
    writer.u16(source.offset);
}

/**
 * Reads the body of `learn` after its subtype, with `limited` that of NXAST_LEARN2; undefined when it has flags or
 * fields that this codec does not know. Throws `OpenFlowError` `SHORT` or `MALFORMED`.
 */
export function readLearn(reader: Reader, limited: boolean): LearnAction | undefined {
    const idleTimeout = reader.u16();
    const hardTimeout = reader.u16();
    const priority = reader.u16();
    const cookie = reader.u64();
    const flags = reader.u16();
    const table = reader.u8();
    reader.skip(1);
    const finIdleTimeout = reader.u16();
    const finHardTimeout = reader.u16();
    const limit = limited ? reader.u32() : 0;
    if (limited) reader.skip(4);
    if ((flags & ~(LearnFlag.SEND_FLOW_REMOVED | LearnFlag.DELETE_LEARNED)) !== 0) return undefined;
    const specs = readSpecs(reader);
    return (
        specs && {
            type: "learn",
            table,
            ...(priority === defaultPriority ? {} : { priority }),
            ...(cookie === 0n ? {} : { cookie }),
            ...(idleTimeout === 0 ? {} : { idleTimeout }),
            ...(hardTimeout === 0 ? {} : { hardTimeout }),
            ...(finIdleTimeout === 0 ? {} : { finIdleTimeout }),
            ...(finHardTimeout === 0 ? {} : { finHardTimeout }),
            ...((flags & LearnFlag.DELETE_LEARNED) === 0 ? {} : { deleteLearned: true }),
            ...((flags & LearnFlag.SEND_FLOW_REMOVED) === 0 ? {} : { sendFlowRemoved: true }),
            ...(limit === 0 ? {} : { limit }),
            specs,
        }
    );
}

function readSpecs(reader: Reader): readonly LearnSpec[] | undefined {
    const specs: LearnSpec[] = [];
    while (reader.remaining >= 2) {
        const header = reader.u16();
        // A header of zero begins the padding.
        if (header === 0) break;
        const spec = readSpec(reader, header);
        if (spec === undefined) return undefined;
        specs.push(spec);
    }
    if (reader.remaining > 7 || reader.rest().some((byte) => byte !== 0))
        reader.fail("learn: bytes after the last part");
    return specs;
}

function readSpec(reader: Reader, header: number): LearnSpec | undefined {
    const bits = header & widthMask;
    const kind = kinds[(header >> kindShift) & 3] ?? reader.fail(`learn: header 0x${header.toString(16)}`);
    if ((header & 0xc000) !== 0) reader.fail(`learn: header 0x${header.toString(16)}`);
    if (bits === 0) reader.fail("learn: a part of 0 bits");
    let source: LearnSource | undefined;
    if ((header & immediate) !== 0) {
        const value = reader.uint(Math.ceil(bits / 16) * 2);
        if (value > ones(bits)) reader.fail(`learn: constant does not fit into ${bits} bits`);
        source = { value: bits <= 32 ? Number(value) : value };
    } else source = readSubField(reader, bits);
    if (kind === "output") {
        if (source !== undefined && "value" in source) return reader.fail("learn: output of a constant");
        return source && { kind, source };
    }
    const target = readSubField(reader, bits);
    if (source === undefined || target === undefined) return undefined;
    return kind === "match" ? { kind, field: target, source } : { kind, to: target, source };
}

function readSubField(reader: Reader, bits: number): SubField | undefined {
    const field = readFieldHeader(reader);
    const offset = reader.u16();
    return field && decodedSubField(reader, field, offset, bits);
}
