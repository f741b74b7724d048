import { type ControllerAction } from "../action.ts";
import { Port } from "../port.ts";
import { type Reader } from "../wire/reader.ts";
import { type Writer } from "../wire/writer.ts";
import { checkUint } from "./check.ts";
import { ActionType, NiciraAction, wholePacket } from "./constants.ts";
import { beginAction, beginNicira, endAction, endLongAction } from "./frame.ts";

/** OpenFlow 1.5 section 7.4.1 and Nicira: reasons in their order on the wire. */
const reasons = ["no_match", "action", "invalid_ttl", "action_set", "group", "packet_out"] as const;
const defaultReason = reasons.indexOf("action");

const Property = { MAX_LENGTH: 0, CONTROLLER_ID: 1, REASON: 2, USERDATA: 3, PAUSE: 4, METER: 5 } as const;

/**
 * Writes `controller` as the smallest of the three actions that can express it: `output`, `controller`, `controller2`.
 * Throws `OpenFlowError` `BAD_VALUE` for a number that does not fit (16 bits, `meter` 32) or userdata beyond 65535
 * bytes, or `TOO_BIG`.
 */
export function writeController(writer: Writer, action: ControllerAction): void {
    const maxLength = checkUint(action.maxLength ?? wholePacket, 16, "controller.maxLength");
    const id = checkUint(action.id ?? 0, 16, "controller.id");
    const reason = reasons.indexOf(action.reason ?? "action");
    const { pause, meter } = action;
    // Empty data is not written, so it does not require a larger action.
    const userdata = action.userdata?.length === 0 ? undefined : action.userdata;
    if (userdata !== undefined || pause === true || meter !== undefined) {
        return writeProperties(writer, { userdata, pause, meter }, { maxLength, id, reason });
    }
    if (id === 0 && reason === defaultReason) {
        const start = beginAction(writer, ActionType.OUTPUT);
        writer.u32(Port.CONTROLLER);
        writer.u16(maxLength);
        return endAction(writer, start);
    }
    const start = beginNicira(writer, NiciraAction.CONTROLLER);
    writer.u16(maxLength);
    writer.u16(id);
    writer.u8(reason);
    endAction(writer, start);
}

function writeProperties(
    writer: Writer,
    { userdata, pause, meter }: { readonly [Key in "userdata" | "pause" | "meter"]: ControllerAction[Key] | undefined },
    { maxLength, id, reason }: { readonly maxLength: number; readonly id: number; readonly reason: number },
): void {
    const start = beginNicira(writer, NiciraAction.CONTROLLER2);
    writer.zeros(6);
    // The 16-bit properties count two bytes of padding in their length.
    const property = (type: number, length: number, write: () => void): void => {
        const at = writer.length;
        writer.u16(type);
        writer.u16(4 + length);
        write();
        writer.pad8(at);
    };
    if (maxLength !== wholePacket) property(Property.MAX_LENGTH, 4, () => writer.u32((maxLength << 16) >>> 0));
    if (id !== 0) property(Property.CONTROLLER_ID, 4, () => writer.u32((id << 16) >>> 0));
    if (reason !== defaultReason) property(Property.REASON, 1, () => writer.u8(reason));
    if (userdata !== undefined) {
        property(Property.USERDATA, checkUint(userdata.length, 16, "controller.userdata.length"), () =>
            writer.bytes(userdata),
        );
    }
    if (pause === true) property(Property.PAUSE, 0, () => undefined);
    if (meter !== undefined) property(Property.METER, 4, () => writer.u32(checkUint(meter, 32, "controller.meter")));
    endLongAction(writer, start, "controller");
}

/**
 * Reads the body of `controller` (NXAST_CONTROLLER) after its subtype. Throws `OpenFlowError` `SHORT`, or `MALFORMED`
 * for an unknown reason.
 */
export function readController(reader: Reader): ControllerAction {
    const maxLength = reader.u16();
    const id = reader.u16();
    return build(reader, { maxLength, id, reason: reader.u8() });
}

/**
 * Reads the body of `controller2` (NXAST_CONTROLLER2) after its subtype. Throws `OpenFlowError` `SHORT`, `LONG` or
 * `MALFORMED`.
 */
export function readController2(reader: Reader): ControllerAction {
    reader.skip(6);
    const read: Parts = {};
    while (reader.remaining > 0) {
        const start = reader.offset;
        const type = reader.u16();
        const length = reader.u16();
        if (length < 4) reader.fail(`controller: property of length ${length}, at least 4`);
        const body = reader.sub(length - 4, "controller property");
        if (type === Property.MAX_LENGTH) read.maxLength = body.u32() >>> 16;
        else if (type === Property.CONTROLLER_ID) read.id = body.u32() >>> 16;
        else if (type === Property.REASON) read.reason = body.u8();
        else if (type === Property.USERDATA) read.userdata = body.restCopy();
        else if (type === Property.PAUSE) read.pause = true;
        else if (type === Property.METER) read.meter = body.u32();
        else reader.fail(`controller: unknown property ${type}`);
        body.end();
        reader.skip((8 - ((reader.offset - start) % 8)) % 8);
    }
    return build(reader, read);
}

interface Parts {
    maxLength?: number;
    id?: number;
    reason?: number;
    userdata?: Uint8Array;
    pause?: boolean;
    meter?: number;
}

function build(
    reader: Reader,
    { reason: code = defaultReason, maxLength = wholePacket, id = 0, ...rest }: Parts,
): ControllerAction {
    const reason = reasons[code] ?? reader.fail(`controller: unknown reason ${code}`);
    return {
        type: "controller",
        ...(maxLength === wholePacket ? {} : { maxLength }),
        ...(id === 0 ? {} : { id }),
        ...(code === defaultReason ? {} : { reason }),
        ...rest,
    };
}
