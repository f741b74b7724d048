import { type Action, type CloneAction, type OutputFieldAction, type ResubmitAction } from "../action.ts";
import { callerError } from "../errors.ts";
import { checkedSubField, packBits, writeNiciraHeader } from "../match/sub-field.ts";
import { Port } from "../port.ts";
import { type Writer } from "../wire/writer.ts";
import { checkUint, port16 } from "./check.ts";
import { NiciraAction, noTable, wholePacket } from "./constants.ts";
import { beginNicira, endAction, endLongAction } from "./frame.ts";

/**
 * Writes `resubmit` as NXAST_RESUBMIT_TABLE. Throws `OpenFlowError` `BAD_VALUE` for a port or table that does not fit.
 */
export function writeResubmit(writer: Writer, { port, table }: ResubmitAction): void {
    const start = beginNicira(writer, NiciraAction.RESUBMIT_TABLE);
    writer.u16(port16(port ?? Port.IN_PORT, "resubmit.port"));
    writer.u8(checkUint(table ?? noTable, 8, "resubmit.table"));
    endAction(writer, start);
}

/** Writes `clone` (NXAST_CLONE), with its actions nested by `writeNested`. Throws `OpenFlowError` `TOO_BIG`, or its error. */
export function writeClone(
    writer: Writer,
    { actions }: CloneAction,
    writeNested: (writer: Writer, actions: readonly Action[]) => void,
): void {
    const start = beginNicira(writer, NiciraAction.CLONE);
    writer.zeros(6);
    writeNested(writer, actions);
    endLongAction(writer, start, "clone");
}

/** Writes `output` to a field (NXAST_OUTPUT_REG). Throws `OpenFlowError` `BAD_FIELD` or `BAD_VALUE`. */
export function writeOutputField(writer: Writer, { source, maxLength }: OutputFieldAction): void {
    const field = checkedSubField(source, "output_field.source");
    const start = beginNicira(writer, NiciraAction.OUTPUT_REG);
    writer.u16(packBits(source, "output_field.source"));
    writeNiciraHeader(writer, field);
    writer.u16(checkUint(maxLength ?? wholePacket, 16, "output_field.maxLength"));
    endAction(writer, start);
}

/**
 * Writes `conjunction` (NXAST_CONJUNCTION). Throws `OpenFlowError` `BAD_VALUE` unless it is clause 1 to n of 2 to 64.
 */
export function writeConjunction(writer: Writer, action: Extract<Action, { type: "conjunction" }>): void {
    const { clause, clauses, id } = action;
    const fits = Number.isInteger(clauses) && clauses >= 2 && clauses <= 64;
    if (!fits || !Number.isInteger(clause) || clause < 1 || clause > clauses) {
        throw callerError(
            "BAD_VALUE",
            `conjunction ${id}: clause ${clause} of ${clauses}; 2 to 64 clauses, counted from 1`,
        );
    }
    const start = beginNicira(writer, NiciraAction.CONJUNCTION);
    writer.u8(clause - 1);
    writer.u8(clauses);
    writer.u32(checkUint(id, 32, "conjunction.id"));
    endAction(writer, start);
}

/**
 * Writes `note` (NXAST_NOTE), padded with zeros to 8 bytes, which are read as a part of its data. Throws
 * `OpenFlowError` `TOO_BIG`.
 */
export function writeNote(writer: Writer, data: Uint8Array): void {
    const start = beginNicira(writer, NiciraAction.NOTE);
    writer.bytes(data);
    endLongAction(writer, start, "note");
}
