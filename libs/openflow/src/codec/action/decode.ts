import { type Action, type Nat } from "../action.ts";
import { peerError } from "../errors.ts";
import { fieldValue, readOxm } from "../match/oxm.ts";
import { decodedSubField, readFieldHeader, unpackBits } from "../match/sub-field.ts";
import { Port } from "../port.ts";
import { Reader } from "../wire/reader.ts";
import { port32 } from "./check.ts";
import { ActionType, NiciraAction, niciraVendor, noTable, wholePacket } from "./constants.ts";
import { readController, readController2 } from "./controller.ts";
import { readCt, readNat } from "./ct.ts";
import { readLearn } from "./learn.ts";

/** The switch rejects `ct` inside `ct`, and `clone` many times inside `clone`; received bytes must not cause unlimited recursion either. */
const maxDepth = 4;

/**
 * Reads actions up to the end of the reader. An action without a type in this codec becomes `raw`. Throws
 * `OpenFlowError` `SHORT`, `LONG` or `MALFORMED`.
 */
export function readActions(reader: Reader): Action[] {
    return readList(reader, 0).map((action) => {
        if ("type" in action) return action;
        throw peerError("MALFORMED", "actions: nat outside ct");
    });
}

function readList(reader: Reader, depth: number): (Action | Nat)[] {
    if (depth > maxDepth) reader.fail("actions are nested too deeply");
    const actions: (Action | Nat)[] = [];
    while (reader.remaining > 0) {
        const head = reader.sub(4, "action");
        const type = head.u16();
        const length = head.u16();
        if (length < 8 || length % 8 !== 0) reader.fail(`action ${type} has length ${length}, a multiple of 8 from 8`);
        const bytes = reader.bytes(length - 4);
        actions.push(readAction(type, new Reader(bytes, `action ${type}`), depth) ?? raw(type, length, bytes));
    }
    return actions;
}

function raw(type: number, length: number, rest: Uint8Array): Action {
    return { type: "raw", bytes: Uint8Array.from([type >> 8, type & 0xff, length >> 8, length & 0xff, ...rest]) };
}

function readAction(type: number, body: Reader, depth: number): Action | Nat | undefined {
    switch (type) {
        case ActionType.OUTPUT:
            return fixed(body, 12, readOutput);
        case ActionType.GROUP:
            return fixed(body, 4, () => ({ type: "group", group: body.u32() }));
        case ActionType.METER:
            return fixed(body, 4, () => ({ type: "meter", meter: body.u32() }));
        case ActionType.SET_QUEUE:
            return fixed(body, 4, () => ({ type: "set_queue", queue: body.u32() }));
        case ActionType.PUSH_VLAN:
            return fixed(body, 4, () => ({ type: "push_vlan", etherType: body.u16() }));
        case ActionType.POP_VLAN:
            return fixed(body, 4, () => ({ type: "pop_vlan" }));
        case ActionType.DEC_NW_TTL:
            return fixed(body, 4, () => ({ type: "dec_ttl" }));
        case ActionType.SET_FIELD:
            return readSetField(body);
        case ActionType.COPY_FIELD:
            return fixed(body, 20, readMove);
        case ActionType.EXPERIMENTER:
            return body.u32() === niciraVendor ? readNicira(body, depth) : undefined;
        default:
            return undefined;
    }
}

function readNicira(body: Reader, depth: number): Action | Nat | undefined {
    const subtype = body.u16();
    switch (subtype) {
        case NiciraAction.RESUBMIT:
        case NiciraAction.RESUBMIT_TABLE:
            return fixed(body, 6, () => readResubmit(body, subtype));
        case NiciraAction.OUTPUT_REG:
            return fixed(body, 14, readOutputField);
        case NiciraAction.OUTPUT_TRUNC:
            return fixed(body, 6, () => ({ type: "output", port: port32(body.u16()), maxLength: body.u32() }));
        case NiciraAction.REG_MOVE:
            return fixed(body, 14, readRegMove);
        case NiciraAction.CONJUNCTION:
            return fixed(body, 6, readConjunction);
        case NiciraAction.CONTROLLER:
            return fixed(body, 6, readController);
        case NiciraAction.CONTROLLER2:
            return readController2(body);
        case NiciraAction.CT:
            return readCt(body, (nested) => readList(nested, depth + 1));
        case NiciraAction.CLONE:
            return readClone(body, depth);
        case NiciraAction.NAT:
            return whole(body, readNat(body));
        case NiciraAction.LEARN:
            return readLearn(body, false);
        case NiciraAction.LEARN2:
            return readLearn(body, true);
        case NiciraAction.NOTE:
            return { type: "note", data: body.restCopy() };
        case NiciraAction.CT_CLEAR:
            return fixed(body, 6, () => ({ type: "ct_clear" }));
        case NiciraAction.EXIT:
            return fixed(body, 6, () => ({ type: "exit" }));
        default:
            return undefined;
    }
}

function readClone(body: Reader, depth: number): Action {
    body.skip(6);
    const actions = readList(body, depth + 1).map((action) => {
        if ("type" in action) return action;
        return body.fail("clone: nat outside ct");
    });
    return { type: "clone", actions };
}

/** Rejects an action whose body has another length than its type defines. */
function fixed<T>(body: Reader, length: number, read: (body: Reader) => T): T {
    if (body.remaining !== length) body.fail(`its body has ${body.remaining} bytes, must have ${length}`);
    return read(body);
}

/** Rejects more remaining bytes than padding can have. */
function whole<T>(body: Reader, value: T): T {
    if (body.remaining > 7) body.fail(`${body.remaining} bytes are left over after its end`);
    return value;
}

function readOutput(body: Reader): Action {
    const port = body.u32();
    const maxLength = body.u16();
    if (port !== Port.CONTROLLER || maxLength === wholePacket) return { type: "output", port };
    return { type: "output", port, maxLength };
}

function readSetField(body: Reader): Action | undefined {
    const entry = readOxm(body);
    if (entry instanceof Uint8Array) return undefined;
    whole(body, entry);
    const value = fieldValue(entry);
    if (typeof value !== "object") return { type: "set_field", field: entry.field.name, value };
    return { type: "set_field", field: entry.field.name, value: value.value, mask: value.mask };
}

function readMove(body: Reader): Action | undefined {
    const bits = body.u16();
    const from = body.u16();
    const to = body.u16();
    body.skip(2);
    return moveOf(body, bits, from, to);
}

function readRegMove(body: Reader): Action | undefined {
    const bits = body.u16();
    return moveOf(body, bits, body.u16(), body.u16());
}

function moveOf(body: Reader, bits: number, fromOffset: number, toOffset: number): Action | undefined {
    const source = readFieldHeader(body);
    const target = readFieldHeader(body);
    if (source === undefined || target === undefined) return undefined;
    return {
        type: "move",
        from: decodedSubField(body, source, fromOffset, bits),
        to: decodedSubField(body, target, toOffset, bits),
    };
}

function readResubmit(body: Reader, subtype: number): Action {
    const port = port32(body.u16());
    const table = subtype === NiciraAction.RESUBMIT ? noTable : body.u8();
    return {
        type: "resubmit",
        ...(port === Port.IN_PORT ? {} : { port }),
        ...(table === noTable ? {} : { table }),
    };
}

function readOutputField(body: Reader): Action | undefined {
    const { offset, bits } = unpackBits(body.u16());
    const field = readFieldHeader(body);
    const maxLength = body.u16();
    if (field === undefined) return undefined;
    const source = decodedSubField(body, field, offset, bits);
    return { type: "output_field", source, ...(maxLength === wholePacket ? {} : { maxLength }) };
}

function readConjunction(body: Reader): Action {
    const clause = body.u8() + 1;
    const clauses = body.u8();
    if (clauses < 2 || clause > clauses) body.fail(`conjunction: clause ${clause} of ${clauses}`);
    return { type: "conjunction", clause, clauses, id: body.u32() };
}
