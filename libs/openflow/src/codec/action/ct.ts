import { type IpAddress } from "@antrea/ip";
import { type Action, type CtAction, type Nat } from "../action.ts";
import { callerError } from "../errors.ts";
import {
    checkedSubField,
    decodedSubField,
    packBits,
    readFieldHeader,
    unpackBits,
    writeNiciraHeader,
} from "../match/sub-field.ts";
import { Reader } from "../wire/reader.ts";
import { type Writer } from "../wire/writer.ts";
import { checkUint } from "./check.ts";
import { NiciraAction, noTable } from "./constants.ts";
import { beginNicira, endAction, endLongAction } from "./frame.ts";

const CtFlag = { COMMIT: 1, FORCE: 2 } as const;
const NatFlag = { SRC: 1, DST: 2, PERSISTENT: 4, HASH: 8, RANDOM: 16 } as const;
const NatRange = { IPV4_MIN: 1, IPV4_MAX: 2, IPV6_MIN: 4, IPV6_MAX: 8, PORT_MIN: 16, PORT_MAX: 32 } as const;

/**
 * Writes `ct` (NXAST_CT), with `nat` and the actions of `exec` nested at its end by `writeNested`. Throws
 * `OpenFlowError` `BAD_VALUE` for `force` without `commit`, an incomplete range of `nat` or a number that does not fit,
 * `BAD_FIELD` for an unknown zone field, `TOO_BIG`, or the error of `writeNested`.
 */
export function writeCt(
    writer: Writer,
    action: CtAction,
    writeNested: (writer: Writer, actions: readonly Action[]) => void,
): void {
    if (action.force === true && action.commit !== true) {
        throw callerError("BAD_VALUE", "ct: force needs commit");
    }
    const start = beginNicira(writer, NiciraAction.CT);
    writer.u16((action.commit === true ? CtFlag.COMMIT : 0) | (action.force === true ? CtFlag.FORCE : 0));
    if (typeof action.zone === "number") {
        writer.u32(0);
        writer.u16(checkUint(action.zone, 16, "ct.zone"));
    } else {
        writeNiciraHeader(writer, checkedSubField(action.zone, "ct.zone"));
        writer.u16(packBits(action.zone, "ct.zone"));
    }
    writer.u8(checkUint(action.table ?? noTable, 8, "ct.table"));
    writer.zeros(3);
    writer.u16(checkUint(action.alg ?? 0, 16, "ct.alg"));
    if (action.nat !== undefined) writeNat(writer, action.nat);
    writeNested(writer, action.exec ?? []);
    endLongAction(writer, start, "ct");
}

function writeNat(writer: Writer, nat: Nat): void {
    const start = beginNicira(writer, NiciraAction.NAT);
    writer.zeros(2);
    if (nat.kind === "restore") return endAction(writer, start);
    if (nat.max !== undefined && nat.min?.family !== nat.max.family) {
        throw callerError("BAD_VALUE", "nat: max needs min, of the same family");
    }
    if (nat.portMax !== undefined && nat.portMin === undefined) {
        throw callerError("BAD_VALUE", "nat: portMax needs portMin");
    }
    const six = nat.min?.family === 6;
    const range =
        (nat.min === undefined ? 0 : six ? NatRange.IPV6_MIN : NatRange.IPV4_MIN) |
        (nat.max === undefined ? 0 : six ? NatRange.IPV6_MAX : NatRange.IPV4_MAX) |
        (nat.portMin === undefined ? 0 : NatRange.PORT_MIN) |
        (nat.portMax === undefined ? 0 : NatRange.PORT_MAX);
    writer.u16(
        (nat.kind === "src" ? NatFlag.SRC : NatFlag.DST) |
            (nat.persistent === true ? NatFlag.PERSISTENT : 0) |
            (nat.hash === true ? NatFlag.HASH : 0) |
            (nat.random === true ? NatFlag.RANDOM : 0),
    );
    writer.u16(range);
    for (const ip of [nat.min, nat.max]) if (ip !== undefined) writer.uint(ip.value, ip.family === 4 ? 4 : 16);
    for (const port of [nat.portMin, nat.portMax]) if (port !== undefined) writer.u16(checkUint(port, 16, "nat port"));
    endAction(writer, start);
}

/**
 * Reads the body of `ct` after its subtype; undefined when its zone is a field that this codec does not know.
 * `readNested` reads the actions nested in it. Throws `OpenFlowError` `SHORT` or `MALFORMED`, or the error of
 * `readNested`.
 */
export function readCt(reader: Reader, readNested: (reader: Reader) => (Action | Nat)[]): CtAction | undefined {
    const flags = reader.u16();
    const zone = readZone(reader);
    if (zone === undefined) return undefined;
    const table = reader.u8();
    reader.skip(3);
    const alg = reader.u16();
    const exec: Action[] = [];
    let nat: Nat | undefined;
    for (const nested of readNested(reader)) {
        if ("type" in nested) exec.push(nested);
        else if (nat === undefined) nat = nested;
        else reader.fail("ct: more than one nat");
    }
    return {
        type: "ct",
        ...((flags & CtFlag.COMMIT) === 0 ? {} : { commit: true }),
        ...((flags & CtFlag.FORCE) === 0 ? {} : { force: true }),
        zone,
        ...(table === noTable ? {} : { table }),
        ...(nat === undefined ? {} : { nat }),
        ...(exec.length === 0 ? {} : { exec }),
        ...(alg === 0 ? {} : { alg }),
    };
}

function readZone(reader: Reader): CtAction["zone"] | undefined {
    const header = reader.bytes(4);
    const low = reader.u16();
    // Four zeros would name NXM_OF_IN_PORT with no length: they mean that the zone is a number.
    if (header.every((byte) => byte === 0)) return low;
    const field = readFieldHeader(new Reader(header, reader.what));
    const { offset, bits } = unpackBits(low);
    return field && decodedSubField(reader, field, offset, bits);
}

/** Reads the body of `nat` (NXAST_NAT) after its subtype. Throws `OpenFlowError` `SHORT` or `MALFORMED`. */
export function readNat(reader: Reader): Nat {
    reader.skip(2);
    const flags = reader.u16();
    const range = reader.u16();
    const has = (bit: number): boolean => (range & bit) !== 0;
    const ip = (family: 4 | 6): IpAddress => ({ family, value: reader.uint(family === 4 ? 4 : 16) });
    const kind = (flags & NatFlag.SRC) !== 0 ? "src" : (flags & NatFlag.DST) !== 0 ? "dst" : "restore";
    if ((flags & (NatFlag.SRC | NatFlag.DST)) === (NatFlag.SRC | NatFlag.DST)) reader.fail("nat: both src and dst");
    if (kind === "restore") {
        if (range !== 0) reader.fail("nat: a range without src or dst");
        return { kind };
    }
    const four = range & (NatRange.IPV4_MIN | NatRange.IPV4_MAX);
    const six = range & (NatRange.IPV6_MIN | NatRange.IPV6_MAX);
    if (four !== 0 && six !== 0) reader.fail("nat: addresses of both families");
    if (four === NatRange.IPV4_MAX || six === NatRange.IPV6_MAX) reader.fail("nat: a last address without a first");
    const min = has(NatRange.IPV4_MIN) ? ip(4) : undefined;
    const max = has(NatRange.IPV4_MAX) ? ip(4) : undefined;
    const min6 = has(NatRange.IPV6_MIN) ? ip(6) : undefined;
    const max6 = has(NatRange.IPV6_MAX) ? ip(6) : undefined;
    const portMin = has(NatRange.PORT_MIN) ? reader.u16() : undefined;
    const portMax = has(NatRange.PORT_MAX) ? reader.u16() : undefined;
    if (portMax !== undefined && portMin === undefined) reader.fail("nat: a last port without a first");
    const first = min ?? min6;
    const last = max ?? max6;
    return {
        kind,
        ...(first === undefined ? {} : { min: first }),
        ...(last === undefined ? {} : { max: last }),
        ...(portMin === undefined ? {} : { portMin }),
        ...(portMax === undefined ? {} : { portMax }),
        ...((flags & NatFlag.PERSISTENT) === 0 ? {} : { persistent: true }),
        ...((flags & NatFlag.HASH) === 0 ? {} : { hash: true }),
        ...((flags & NatFlag.RANDOM) === 0 ? {} : { random: true }),
    };
}
