import { callerError } from "../errors.ts";
import { type Writer } from "../wire/writer.ts";
import { ActionType, niciraVendor } from "./constants.ts";

/** Writes the header of an action (`ActionType`) and returns its offset for `endAction`, which writes the length. */
export function beginAction(writer: Writer, type: number): number {
    const start = writer.length;
    writer.u16(type);
    writer.u16(0);
    return start;
}

/**
 * Writes the header of one of Nicira's actions (`NiciraAction`), with vendor and subtype, and returns its offset for
 * `endAction`, which writes the length.
 */
export function beginNicira(writer: Writer, subtype: number): number {
    const start = beginAction(writer, ActionType.EXPERIMENTER);
    writer.u32(niciraVendor);
    writer.u16(subtype);
    return start;
}

/** Pads the action that began at `start` to 8 bytes and writes its length; for actions without lists or data. */
export function endAction(writer: Writer, start: number): void {
    writer.pad8(start);
    writer.patchU16(start + 2, writer.length - start);
}

/**
 * As `endAction`, for an action of any length. Throws `OpenFlowError` `TOO_BIG` above 65,528 bytes; `what` names the
 * action in the error.
 */
export function endLongAction(writer: Writer, start: number, what: string): void {
    endAction(writer, start);
    const length = writer.length - start;
    if (length > 0xfff8) throw callerError("TOO_BIG", `action ${what} has ${length} bytes, at most 65528 fit`);
}
