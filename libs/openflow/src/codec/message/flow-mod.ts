import { checkUint, checkUint64 } from "../action/check.ts";
import { callerError } from "../errors.ts";
import { type FlowCommand, type FlowMod } from "../flow.ts";
import { readMatch, wholeMatch, writeMatch } from "../match/oxm.ts";
import { allTables, anyGroup, Port } from "../port.ts";
import { beginMessage, endLongMessage, MessageType } from "../wire/header.ts";
import { type Reader } from "../wire/reader.ts";
import { type Writer } from "../wire/writer.ts";
import { readInstructions, writeInstructions } from "./instruction.ts";

const commands: readonly FlowCommand[] = ["add", "modify", "modify_strict", "delete", "delete_strict"];
const noBuffer = 0xffffffff;
const defaultPriority = 0x8000;
const maxTable = 0xfd;

/** OpenFlow 1.5 section 7.3.4.2, OFPFF_*. */
const FlowFlag = { SEND_FLOW_REMOVED: 1, CHECK_OVERLAP: 2, RESET_COUNTS: 4 } as const;

/**
 * Writes `ofp_flow_mod` with its header: OpenFlow 1.5 section 7.3.4.2. A deletion is written without instructions.
 * Throws `OpenFlowError`: `BAD_FIELD` or `BAD_VALUE` for a flow that cannot be written or an `add` without table,
 * priority or actions, `TOO_BIG` above 65,535 bytes. The rules of `checkFlow` are not checked.
 */
export function writeFlowMod(writer: Writer, xid: number, mod: FlowMod): void {
    const { flow, command } = mod;
    const adds = command === "add";
    const deletes = command === "delete" || command === "delete_strict";
    if (adds && (flow.table === undefined || flow.priority === undefined || flow.actions === undefined)) {
        throw callerError("BAD_VALUE", "flow to add: table, priority and actions must be given");
    }
    const start = beginMessage(writer, MessageType.FLOW_MOD, xid);
    writer.u64(checkUint64(flow.cookie ?? 0n, "cookie"));
    writer.u64(checkUint64(mod.cookieMask ?? 0n, "cookieMask"));
    writer.u8(tableOf(flow.table, adds));
    writer.u8(commands.indexOf(command));
    writer.u16(checkUint(flow.idleTimeout ?? 0, 16, "idleTimeout"));
    writer.u16(checkUint(flow.hardTimeout ?? 0, 16, "hardTimeout"));
    writer.u16(checkUint(flow.priority ?? defaultPriority, 16, "priority"));
    writer.u32(noBuffer);
    writer.u32(checkUint(mod.outPort ?? Port.ANY, 32, "outPort"));
    writer.u32(checkUint(mod.outGroup ?? anyGroup, 32, "outGroup"));
    writer.u16(
        (flow.sendFlowRemoved === true ? FlowFlag.SEND_FLOW_REMOVED : 0) |
            (mod.checkOverlap === true ? FlowFlag.CHECK_OVERLAP : 0) |
            (mod.resetCounts === true ? FlowFlag.RESET_COUNTS : 0),
    );
    writer.u16(checkUint(flow.importance ?? 0, 16, "importance"));
    writeMatch(writer, flow.match);
    if (!deletes) writeInstructions(writer, flow);
    endLongMessage(writer, start, "the flow");
}

function tableOf(table: number | undefined, adds: boolean): number {
    const number = checkUint(table ?? allTables, 8, "table");
    if (number <= maxTable || (!adds && number === allTables)) return number;
    throw callerError("BAD_VALUE", `table ${number}: tables are 0 to ${maxTable}`);
}

/**
 * Reads the body of a flow mod; members with their default are left out. Throws `OpenFlowError` `SHORT`, `LONG` or
 * `MALFORMED`, the latter also for a match with fields that this codec does not know.
 */
export function readFlowMod(reader: Reader): FlowMod {
    const cookie = reader.u64();
    const cookieMask = reader.u64();
    const table = reader.u8();
    const code = reader.u8();
    const command = commands[code] ?? reader.fail(`flow mod: unknown command ${code}`);
    const idleTimeout = reader.u16();
    const hardTimeout = reader.u16();
    const priority = reader.u16();
    reader.skip(4);
    const outPort = reader.u32();
    const outGroup = reader.u32();
    const flags = reader.u16();
    const importance = reader.u16();
    const match = wholeMatch(readMatch(reader), "flow mod");
    return {
        command,
        flow: {
            ...(table === allTables ? {} : { table }),
            priority,
            match,
            ...timing({ idleTimeout, hardTimeout, flags, importance }),
            ...(cookie === 0n ? {} : { cookie }),
            ...readInstructions(reader),
        },
        ...(cookieMask === 0n ? {} : { cookieMask }),
        ...(outPort === Port.ANY ? {} : { outPort }),
        ...(outGroup === anyGroup ? {} : { outGroup }),
        ...((flags & FlowFlag.CHECK_OVERLAP) === 0 ? {} : { checkOverlap: true }),
        ...((flags & FlowFlag.RESET_COUNTS) === 0 ? {} : { resetCounts: true }),
    };
}

/**
 * Timeouts in seconds, importance and the flow-removed flag of a flow that was read, without those that have their
 * default; `flags` has OFPFF_* bits.
 */
export function timing(given: {
    readonly idleTimeout: number;
    readonly hardTimeout: number;
    readonly flags: number;
    readonly importance: number;
}): { idleTimeout?: number; hardTimeout?: number; sendFlowRemoved?: boolean; importance?: number } {
    return {
        ...(given.idleTimeout === 0 ? {} : { idleTimeout: given.idleTimeout }),
        ...(given.hardTimeout === 0 ? {} : { hardTimeout: given.hardTimeout }),
        ...((given.flags & FlowFlag.SEND_FLOW_REMOVED) === 0 ? {} : { sendFlowRemoved: true }),
        ...(given.importance === 0 ? {} : { importance: given.importance }),
    };
}
