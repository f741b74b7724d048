import { assertNever } from "@antrea/errors";
import { type Action, type MoveAction, type OutputAction, type SetFieldAction } from "../action.ts";
import { callerError } from "../errors.ts";
import { checkedEntry } from "../match/canonical.ts";
import { fieldSpec } from "../fields.ts";
import { writeOxm } from "../match/oxm.ts";
import { checkedSubField, writeOxmHeader } from "../match/sub-field.ts";
import { Port } from "../port.ts";
import { type Writer } from "../wire/writer.ts";
import { checkUint, port16 } from "./check.ts";
import { ActionType, NiciraAction, wholePacket } from "./constants.ts";
import { writeController } from "./controller.ts";
import { writeCt } from "./ct.ts";
import { beginAction, beginNicira, endAction } from "./frame.ts";
import { writeLearn } from "./learn.ts";
import { writeClone, writeConjunction, writeNote, writeOutputField, writeResubmit } from "./nicira.ts";

/**
 * Writes a list of actions, as Apply-Actions, a packet-out, `ct` and `clone` have it. Throws `OpenFlowError` `BAD_FIELD`,
 * `BAD_VALUE` or `TOO_BIG` for an action that cannot be written.
 */
export function writeActions(writer: Writer, actions: readonly Action[]): void {
    for (const action of actions) writeAction(writer, action);
}

function writeAction(writer: Writer, action: Action): void {
    switch (action.type) {
        case "output":
            return writeOutput(writer, action);
        case "output_field":
            return writeOutputField(writer, action);
        case "set_field":
            return writeSetField(writer, action);
        case "move":
            return writeMove(writer, action);
        case "resubmit":
            return writeResubmit(writer, action);
        case "group":
            return writeNumber(writer, ActionType.GROUP, action.group, "group");
        case "meter":
            return writeNumber(writer, ActionType.METER, action.meter, "meter");
        case "set_queue":
            return writeNumber(writer, ActionType.SET_QUEUE, action.queue, "set_queue");
        case "ct":
            return writeCt(writer, action, writeActions);
        case "clone":
            return writeClone(writer, action, writeActions);
        case "ct_clear":
            return endAction(writer, beginNicira(writer, NiciraAction.CT_CLEAR));
        case "exit":
            return endAction(writer, beginNicira(writer, NiciraAction.EXIT));
        case "dec_ttl":
            return writeBare(writer, ActionType.DEC_NW_TTL);
        case "pop_vlan":
            return writeBare(writer, ActionType.POP_VLAN);
        case "push_vlan":
            return writePushVlan(writer, action.etherType);
        case "learn":
            return writeLearn(writer, action);
        case "conjunction":
            return writeConjunction(writer, action);
        case "controller":
            return writeController(writer, action);
        case "note":
            return writeNote(writer, action.data);
        case "raw":
            return writeRaw(writer, action.bytes);
        default:
            return assertNever(action);
    }
}

function writeOutput(writer: Writer, { port, maxLength }: OutputAction): void {
    checkUint(port, 32, "output.port");
    if (maxLength !== undefined && port !== Port.CONTROLLER) {
        const start = beginNicira(writer, NiciraAction.OUTPUT_TRUNC);
        writer.u16(port16(port, "output.port"));
        writer.u32(checkUint(maxLength, 32, "output.maxLength"));
        return endAction(writer, start);
    }
    const start = beginAction(writer, ActionType.OUTPUT);
    writer.u32(port);
    writer.u16(port === Port.CONTROLLER ? checkUint(maxLength ?? wholePacket, 16, "output.maxLength") : 0);
    endAction(writer, start);
}

function writeSetField(writer: Writer, action: SetFieldAction): void {
    const field = fieldSpec(action.field);
    const { value, mask } = checkedEntry(
        action.field,
        action.mask === undefined ? action.value : { value: action.value, mask: action.mask },
    );
    if (mask === 0n)
        throw callerError("BAD_VALUE", `set_field ${action.field}: its mask is 0, so it would write nothing`);
    const start = beginAction(writer, ActionType.SET_FIELD);
    writeOxm(writer, { field, value, mask: mask === field.all ? undefined : mask });
    endAction(writer, start);
}

function writeMove(writer: Writer, { from, to }: MoveAction): void {
    const source = checkedSubField(from, "move from");
    const target = checkedSubField(to, "move to");
    if (from.bits !== to.bits) {
        throw callerError("BAD_VALUE", `move: ${from.field} gives ${from.bits} bits, ${to.field} takes ${to.bits}`);
    }
    const start = beginAction(writer, ActionType.COPY_FIELD);
    writer.u16(from.bits);
    writer.u16(from.offset);
    writer.u16(to.offset);
    writer.zeros(2);
    writeOxmHeader(writer, source);
    writeOxmHeader(writer, target);
    endAction(writer, start);
}

function writeNumber(writer: Writer, type: number, value: number, name: string): void {
    const start = beginAction(writer, type);
    writer.u32(checkUint(value, 32, name));
    endAction(writer, start);
}

function writeBare(writer: Writer, type: number): void {
    endAction(writer, beginAction(writer, type));
}

function writePushVlan(writer: Writer, etherType: number): void {
    const start = beginAction(writer, ActionType.PUSH_VLAN);
    writer.u16(checkUint(etherType, 16, "push_vlan.etherType"));
    endAction(writer, start);
}

function writeRaw(writer: Writer, bytes: Uint8Array): void {
    const length = ((bytes[2] ?? 0) << 8) | (bytes[3] ?? 0);
    if (length !== bytes.length || length < 8 || length % 8 !== 0) {
        throw callerError("BAD_VALUE", `raw action: ${bytes.length} bytes, its header specifies ${length}`);
    }
    writer.bytes(bytes);
}
