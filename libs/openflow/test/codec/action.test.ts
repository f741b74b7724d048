import { describe, expect, it } from "@jest/globals";
import { type Action, type Nat, type SubField, Writer } from "../../src/codec/index.ts";
import { checkUint64, port16, port32 } from "../../src/codec/action/check.ts";
import { readActions } from "../../src/codec/action/decode.ts";
import { writeActions } from "../../src/codec/action/encode.ts";
import { Reader } from "../../src/codec/wire/reader.ts";
import { hex } from "../fixtures.ts";

function written(action: Action): Uint8Array {
    const writer = new Writer();
    writeActions(writer, [action]);
    return writer.finish();
}

function rejected(action: Action): unknown {
    try {
        written(action);
        return undefined;
    } catch (error) {
        const { code, message } = error as { code?: unknown; message?: unknown };
        return `${String(code)}: ${String(message)}`;
    }
}

const reg = (offset: number, bits: number, field: SubField["field"] = "reg0"): SubField => ({ field, offset, bits });
const ct = (nat: Nat): Action => ({ type: "ct", commit: true, zone: 1, nat });
const v4 = (value: bigint) => ({ family: 4, value }) as const;
const v6 = (value: bigint) => ({ family: 6, value }) as const;

// Their bytes are those of nicira-ext.h and ofp-actions.c of Open vSwitch; flow-mod.test.ts compares with ovs-ofctl.
describe("actions on the wire", () => {
    it.each<[name: string, action: Action, bytes: string, read?: Action]>([
        [
            "controller with every property, each padded to 8 bytes",
            {
                type: "controller",
                maxLength: 9,
                id: 3,
                reason: "packet_out",
                userdata: Uint8Array.of(1),
                pause: true,
                meter: 5,
            },
            "ffff0040 00002320 0025 000000000000" +
                "0000 0008 00090000" +
                "0001 0008 00030000" +
                "0002 0005 05 000000" +
                "0003 0005 01 000000" +
                "0004 0004 00000000" +
                "0005 0008 00000005",
        ],
        ["controller with a reason", { type: "controller", reason: "group" }, "ffff0010 00002320 0014 ffff 0000 04 00"],
        [
            "controller with a meter alone",
            { type: "controller", meter: 5 },
            "ffff0018 00002320 0025 000000000000 0005 0008 00000005",
        ],
        [
            "truncated output to a reserved port",
            { type: "output", port: 0xfffffffe, maxLength: 70000 },
            "ffff0010 00002320 0027 fffe 00011170",
        ],
        ["resubmit to the table of the flow", { type: "resubmit", port: 9 }, "ffff0010 00002320 000e 0009 ff 000000"],
        [
            "output to a field, cut",
            { type: "output_field", source: reg(16, 16), maxLength: 100 },
            "ffff0018 00002320 000f 040f 00010004 0064 000000000000",
        ],
        [
            "move from in_port, of 16 bits here",
            { type: "move", from: reg(0, 16, "in_port"), to: reg(0, 16) },
            "001c0018 0010 0000 0000 0000 00000002 00010004 00000000",
        ],
        [
            "set_field with a mask of all bits",
            { type: "set_field", field: "ip_ecn", value: 1, mask: 3 },
            "00190010 80001201 01 00000000000000",
            { type: "set_field", field: "ip_ecn", value: 1 },
        ],
        [
            "set_field with a mask",
            { type: "set_field", field: "reg0", value: 1, mask: 3 },
            "00190010 00010108 00000001 00000003",
        ],
        [
            "nat of ports",
            ct({ kind: "dst", portMin: 0, portMax: 65535, random: true }),
            "ffff0030 00002320 0023 0001 00000000 0001 ff 000000 0000" +
                "ffff0018 00002320 0024 0000 0012 0030 0000 ffff 00000000",
        ],
        [
            "nat to a range of IPv4",
            ct({ kind: "src", min: v4(0x0a000001n), max: v4(0x0a000009n), persistent: true }),
            "ffff0030 00002320 0023 0001 00000000 0001 ff 000000 0000" +
                "ffff0018 00002320 0024 0000 0005 0003 0a000001 0a000009",
        ],
        [
            "nat to an IPv6 address",
            ct({ kind: "dst", min: v6(5n), hash: true }),
            "ffff0038 00002320 0023 0001 00000000 0001 ff 000000 0000" +
                "ffff0020 00002320 0024 0000 000a 0004 00000000000000000000000000000005",
        ],
        [
            "learn with all it can have",
            {
                type: "learn",
                table: 9,
                priority: 7,
                cookie: 5n,
                idleTimeout: 1,
                hardTimeout: 2,
                finIdleTimeout: 3,
                finHardTimeout: 4,
                sendFlowRemoved: true,
                deleteLearned: true,
                limit: 6,
                specs: [
                    { kind: "match", field: reg(8, 17), source: { value: 0x1ffff } },
                    { kind: "load", to: reg(0, 4), source: reg(4, 4, "reg1") },
                    { kind: "output", source: reg(0, 16) },
                ],
            },
            "ffff0050 00002320 002d 0001 0002 0007 0000000000000005 0003 09 00 0003 0004 00000006 00000000" +
                "2011 0001ffff 00010004 0008" +
                "0804 00010204 0004 00010004 0000" +
                "1010 00010004 0000" +
                "000000000000",
        ],
        [
            "learn without a limit",
            { type: "learn", table: 9, specs: [] },
            "ffff0020 00002320 0010 0000 0000 8000 0000000000000000 0000 09 00 0000 0000",
        ],
    ])("%s", (_name, action, text, read = action) => {
        expect(hex(written(action))).toBe(text.replaceAll(" ", ""));
        expect(readActions(new Reader(written(action), "actions"))).toEqual([read]);
    });

    it.each(["no_match", "action", "invalid_ttl", "action_set", "group", "packet_out"] as const)(
        "reason %s of controller is read as it was written, in each form",
        (reason) => {
            const read = (action: Action): unknown => readActions(new Reader(written(action), "actions"))[0];
            const given = reason === "action" ? {} : { reason };
            expect(read({ type: "controller", id: 1, reason })).toEqual({ type: "controller", id: 1, ...given });
            expect(read({ type: "controller", meter: 1, reason })).toEqual({ type: "controller", meter: 1, ...given });
        },
    );
});

describe("actions at their limits", () => {
    const note = (length: number): Action => ({ type: "note", data: new Uint8Array(length) });
    const within = (type: "clone" | "ct", ...notes: readonly number[]): Action =>
        type === "clone" ? { type, actions: notes.map(note) } : { type, zone: 1, exec: notes.map(note) };
    const many = (count: number): Action => ({
        type: "learn",
        table: 1,
        specs: Array.from({ length: count }, () => ({ kind: "output", source: reg(0, 16) }) as const),
    });

    it.each<[string, Action, Action, string]>([
        ["note", note(65518), note(65519), "action note has 65536 bytes, at most 65528 fit"],
        [
            "clone",
            within("clone", 32758, 32734),
            within("clone", 32758, 32742),
            "action clone has 65536 bytes, at most 65528 fit",
        ],
        ["ct", within("ct", 32758, 32726), within("ct", 32758, 32734), "action ct has 65536 bytes, at most 65528 fit"],
        [
            "controller",
            { type: "controller", userdata: new Uint8Array(65508) },
            { type: "controller", userdata: new Uint8Array(65509) },
            "action controller has 65536 bytes, at most 65528 fit",
        ],
        ["learn", many(8187), many(8188), "action learn has 65536 bytes, at most 65528 fit"],
    ])("%s", (_name, most, more, message) => {
        expect(written(most).length).toBe(65528);
        expect(rejected(more)).toBe(`TOO_BIG: ${message}`);
    });

    it("bits of a zone or port: 64 in a register of 128", () => {
        const zone = (offset: number, bits: number): Action => ({ type: "ct", zone: reg(offset, bits, "xxreg0") });
        expect(rejected(zone(64, 64))).toBeUndefined();
        expect(rejected(zone(0, 65))).toBe("BAD_VALUE: ct.zone: 65 bits, at most 64");
        expect(rejected(zone(65, 64))).toBe(
            "BAD_VALUE: ct.zone: xxreg0[65..128] lies outside the field, which has 128 bits",
        );
    });

    it("ports of 16 bits: those below the reserved ones, and the reserved ones", () => {
        for (const port of [0, 1, 0xfeff, 0xffffff00, 0xfffffff8, 0xffffffff]) {
            expect(port32(port16(port, "port"))).toBe(port);
        }
        expect([port16(0xfeff, "p"), port16(0xffffff00, "p")]).toEqual([0xfeff, 0xff00]);
        for (const port of [0xff00, 0xfffffeff]) {
            const rule = `port: port ${port} does not fit, at most 65279 or a reserved port`;
            expect(() => port16(port, "port")).toThrow(expect.objectContaining({ code: "BAD_VALUE", message: rule }));
        }
    });

    it("numbers of 64 bits", () => {
        expect(checkUint64(0n, "n")).toBe(0n);
        expect(checkUint64(2n ** 64n - 1n, "n")).toBe(2n ** 64n - 1n);
        for (const value of [-1n, 2n ** 64n]) {
            expect(() => checkUint64(value, "n")).toThrow(
                expect.objectContaining({ code: "BAD_VALUE", message: `n: ${value} does not fit into 64 bits` }),
            );
        }
    });
});
