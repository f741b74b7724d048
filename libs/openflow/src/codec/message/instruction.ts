import { readActions } from "../action/decode.ts";
import { checkUint, checkUint64 } from "../action/check.ts";
import { writeActions } from "../action/encode.ts";
import { type Action } from "../action.ts";
import { type Flow } from "../flow.ts";
import { type Reader } from "../wire/reader.ts";
import { type Writer } from "../wire/writer.ts";
import { callerError } from "../errors.ts";

/** OpenFlow 1.5 section 7.2.5. */
const Instruction = { GOTO_TABLE: 1, WRITE_METADATA: 2, WRITE_ACTIONS: 3, APPLY_ACTIONS: 4, CLEAR_ACTIONS: 5 } as const;

/** The members of a flow that are its instructions. */
export type Instructions = Pick<Flow, "actions" | "gotoTable" | "writeMetadata" | "clearActions" | "writeActions">;

/**
 * Writes the instructions in the order in which a switch runs and reports them: OpenFlow 1.5 section 7.2.5. Empty
 * actions make no instruction, so a flow that drops has none. Throws `OpenFlowError` `BAD_FIELD`, `BAD_VALUE` or
 * `TOO_BIG`.
 */
export function writeInstructions(writer: Writer, flow: Partial<Instructions>): void {
    if (flow.actions !== undefined && flow.actions.length > 0) {
        writeActionList(writer, Instruction.APPLY_ACTIONS, flow.actions);
    }
    if (flow.clearActions === true) writeActionList(writer, Instruction.CLEAR_ACTIONS, []);
    if (flow.writeActions !== undefined) writeActionList(writer, Instruction.WRITE_ACTIONS, flow.writeActions);
    if (flow.writeMetadata !== undefined) {
        writer.u16(Instruction.WRITE_METADATA);
        writer.u16(24);
        writer.zeros(4);
        writer.u64(checkUint64(flow.writeMetadata.value, "writeMetadata.value"));
        writer.u64(checkUint64(flow.writeMetadata.mask, "writeMetadata.mask"));
    }
    if (flow.gotoTable !== undefined) {
        writer.u16(Instruction.GOTO_TABLE);
        writer.u16(8);
        writer.u8(checkUint(flow.gotoTable, 8, "gotoTable"));
        writer.zeros(3);
    }
}

function writeActionList(writer: Writer, type: number, actions: readonly Action[]): void {
    const start = writer.length;
    writer.u16(type);
    writer.u16(0);
    writer.zeros(4);
    writeActions(writer, actions);
    const length = writer.length - start;
    if (length > 0xffff)
        throw callerError("TOO_BIG", `the actions have ${length} bytes, at most 65535 fit; use a group`);
    writer.patchU16(start + 2, length);
}

/**
 * Reads instructions up to the end of the reader; without Apply-Actions `actions` is empty. Throws `OpenFlowError`
 * `SHORT`, `LONG` or `MALFORMED`, the latter also for an instruction that this codec does not know.
 */
export function readInstructions(reader: Reader): Instructions {
    const out: { -readonly [K in keyof Instructions]?: Instructions[K] } = {};
    const seen = new Set<number>();
    while (reader.remaining > 0) {
        const type = reader.u16();
        const length = reader.u16();
        if (length < 8 || length % 8 !== 0)
            reader.fail(`instruction ${type} of length ${length}, a multiple of 8 from 8`);
        if (seen.has(type)) reader.fail(`instruction ${type} comes twice`);
        seen.add(type);
        const body = reader.sub(length - 4, `instruction ${type}`);
        if (type === Instruction.APPLY_ACTIONS) out.actions = readActionList(body);
        else if (type === Instruction.WRITE_ACTIONS) out.writeActions = readActionList(body);
        else if (type === Instruction.CLEAR_ACTIONS) out.clearActions = true;
        else if (type === Instruction.GOTO_TABLE) out.gotoTable = body.u8();
        else if (type === Instruction.WRITE_METADATA) out.writeMetadata = readMetadata(body);
        else body.fail("this codec does not know it");
    }
    return { actions: [], ...out };
}

function readActionList(body: Reader): Action[] {
    body.skip(4);
    return readActions(body);
}

function readMetadata(body: Reader): { value: bigint; mask: bigint } {
    body.skip(4);
    const metadata = { value: body.u64(), mask: body.u64() };
    body.end();
    return metadata;
}
