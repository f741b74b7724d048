import { checkUint } from "../action/check.ts";
import { type Meter, type MeterMod } from "../meter.ts";
import { allMeters } from "../port.ts";
import { beginMessage, endMessage, MessageType } from "../wire/header.ts";
import { type Reader } from "../wire/reader.ts";
import { type Writer } from "../wire/writer.ts";

const commands: readonly MeterMod["command"][] = ["add", "modify", "delete"];
/** OpenFlow 1.5 section 7.3.4.5, OFPMF_*. */
const MeterFlag = { KILOBITS: 1, PACKETS: 2, BURST: 4 } as const;
const dropBand = 1;
const bandBytes = 16;

/**
 * Writes `ofp_meter_mod` with its header: OpenFlow 1.5 section 7.3.4.5. Throws `OpenFlowError` `BAD_VALUE` for a number
 * that has more than 32 bits.
 */
export function writeMeterMod(writer: Writer, xid: number, mod: MeterMod): void {
    const start = beginMessage(writer, MessageType.METER_MOD, xid);
    writer.u16(commands.indexOf(mod.command));
    if (mod.command === "delete") {
        writer.u16(0);
        writer.u32(mod.meter.id === "all" ? allMeters : checkUint(mod.meter.id, 32, "meter.id"));
        return endMessage(writer, start);
    }
    const { id, unit, rate, burst } = mod.meter;
    const flags = unit === "packets" ? MeterFlag.PACKETS : MeterFlag.KILOBITS;
    writer.u16(flags | (burst === undefined ? 0 : MeterFlag.BURST));
    writer.u32(checkUint(id, 32, "meter.id"));
    writer.u16(dropBand);
    writer.u16(bandBytes);
    writer.u32(checkUint(rate, 32, "meter.rate"));
    writer.u32(checkUint(burst ?? 0, 32, "meter.burst"));
    writer.zeros(4);
    endMessage(writer, start);
}

/** Reads the body of a meter mod. Throws `OpenFlowError` `SHORT` or `MALFORMED`, the latter also as `readMeter` does. */
export function readMeterMod(reader: Reader): MeterMod {
    const code = reader.u16();
    const command = commands[code] ?? reader.fail(`meter mod: unknown command ${code}`);
    if (command !== "delete") return { command, meter: readMeterBody(reader) };
    reader.skip(2);
    const id = reader.u32();
    return { command, meter: { id: id === allMeters ? "all" : id } };
}

/**
 * Reads `ofp_meter_config` (OpenFlow 1.5 section 7.3.5.14) from a list of them. Throws `OpenFlowError` `SHORT`, `LONG`
 * or `MALFORMED`, the latter also for a meter that `Meter` cannot express: it has not exactly one band, which drops.
 */
export function readMeter(list: Reader): Meter {
    const length = list.u16();
    if (length < 8) list.fail(`meter of length ${length}, at least 8`);
    return readMeterBody(list.sub(length - 2, "meter"));
}

function readMeterBody(reader: Reader): Meter {
    const flags = reader.u16();
    const id = reader.u32();
    const [type, length] = [reader.u16(), reader.u16()];
    if (type !== dropBand || length !== bandBytes) reader.fail(`band of type ${type} and length ${length}`);
    const [rate, burst] = [reader.u32(), reader.u32()];
    reader.skip(4);
    reader.end();
    const unit = (flags & MeterFlag.PACKETS) === 0 ? "kilobits" : "packets";
    return { id, unit, rate, ...((flags & MeterFlag.BURST) === 0 ? {} : { burst }) };
}
