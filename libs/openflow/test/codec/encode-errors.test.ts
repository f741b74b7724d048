import { describe, expect, it } from "@jest/globals";
import {
    decodeMessage,
    OpenFlowError,
    writeFlowMod,
    Writer,
    type Action,
    type FlowLike,
    type Match,
} from "../../src/codec/index.ts";
import { bytes } from "../fixtures.ts";

function encode(flow: Partial<FlowLike>): void {
    writeFlowMod(new Writer(), 1, { command: "add", flow: { table: 0, priority: 1, actions: [], match: {}, ...flow } });
}

function failure(flow: Partial<FlowLike>): Pick<OpenFlowError, "code" | "fault" | "message"> {
    try {
        encode(flow);
    } catch (error) {
        if (error instanceof OpenFlowError) return error;
        throw error;
    }
    throw new Error("was accepted");
}

const reg = (offset: number, bits: number): { field: "reg0"; offset: number; bits: number } => ({
    field: "reg0",
    offset,
    bits,
});

describe("what cannot be written is refused with its name", () => {
    it.each<[string, Match, RegExp]>([
        ["a value that is too wide", { ip_proto: 256 }, /ip_proto: 256 does not fit into 8 bits/],
        ["a negative value", { reg0: -1 }, /reg0: -1 does not fit/],
        ["a fraction", { reg0: 1.5 }, /reg0: 1.5 is no integer/],
        ["bits outside the mask", { reg0: { value: 3, mask: 1 } }, /reg0: value 0x3 has bits outside its mask 0x1/],
        ["a mask where none is allowed", { eth_type: { value: 0, mask: 1 } }, /eth_type takes no mask/],
        ["one register twice", { reg0: 1, xxreg0: 5n }, /covers reg0, which is given a second time/],
        ["an unknown field", { nw_src: 1 } as unknown as Match, /no match field is named "nw_src"/],
    ])("match: %s", (_, match, message) => {
        const error = failure({ match });
        const code = /given a second time|no match field/.test(error.message) ? "BAD_FIELD" : "BAD_VALUE";
        expect(error).toMatchObject({ code, fault: "caller" });
        expect(error.message).toMatch(message);
    });

    it.each<[string, Action, RegExp]>([
        ["set_field of no bits", { type: "set_field", field: "reg0", value: 0, mask: 0 }, /its mask is 0/],
        ["move of different widths", { type: "move", from: reg(0, 4), to: reg(0, 5) }, /gives 4 bits, reg0 takes 5/],
        ["a subfield outside", { type: "output_field", source: reg(30, 4) }, /reg0\[30\.\.33\] lies outside the field/],
        ["a clause that is not there", { type: "conjunction", clause: 3, clauses: 2, id: 1 }, /clause 3 of 2/],
        ["a zone of 17 bits", { type: "ct", zone: 65536 }, /ct.zone: 65536 is no integer from 0 to 65535/],
        ["force without commit", { type: "ct", zone: 1, force: true }, /force needs commit/],
        [
            "nat from one family to the other",
            {
                type: "ct",
                zone: 1,
                nat: { kind: "src", min: { family: 4, value: 1n }, max: { family: 6, value: 2n } },
            },
            /max needs min, of the same family/,
        ],
        ["a port that does not fit", { type: "resubmit", port: 70000 }, /port 70000 does not fit/],
        [
            "a constant that does not fit",
            { type: "learn", table: 1, specs: [{ kind: "load", to: reg(0, 2), source: { value: 4 } }] },
            /4 does not fit into 2 bits of reg0/,
        ],
    ])("action: %s", (_, action, message) => {
        const error = failure({ actions: [action] });
        expect(error).toMatchObject({ code: "BAD_VALUE", fault: "caller" });
        expect(error.message).toMatch(message);
    });

    it.each<[string, Partial<FlowLike>, RegExp]>([
        ["table 254", { table: 254 }, /tables are 0 to 253/],
        ["priority", { priority: 65536 }, /priority: 65536/],
        ["cookie", { cookie: 1n << 64n }, /cookie: .* does not fit into 64 bits/],
    ])("flow: %s", (_, flow, message) => {
        expect(failure(flow).message).toMatch(message);
    });

    it("never makes a message above 64 KiB", () => {
        const output: Action = { type: "output", port: 1 };
        expect(failure({ actions: Array.from({ length: 4094 }, () => output) })).toMatchObject({ code: "TOO_BIG" });
        expect(failure({ actions: Array.from({ length: 5000 }, () => output) })).toMatchObject({ code: "TOO_BIG" });
    });

    it.each<[string, Partial<FlowLike>]>([
        ["idleTimeout", { idleTimeout: 65536 }],
        ["hardTimeout", { hardTimeout: -1 }],
        ["importance", { importance: 65536 }],
        ["gotoTable", { gotoTable: 256 }],
        ["output.port", { actions: [{ type: "output", port: 2 ** 32 }] }],
        ["output.port", { actions: [{ type: "output", port: 0xff00, maxLength: 9 }] }],
        ["output.maxLength", { actions: [{ type: "output", port: 1, maxLength: 2 ** 32 }] }],
        ["output.maxLength", { actions: [{ type: "output", port: 0xfffffffd, maxLength: 65536 }] }],
        ["output_field.source", { actions: [{ type: "output_field", source: reg(0, 33) }] }],
        ["output_field.maxLength", { actions: [{ type: "output_field", source: reg(0, 1), maxLength: 65536 }] }],
        ["move from", { actions: [{ type: "move", from: reg(-1, 4), to: reg(0, 4) }] }],
        ["move to", { actions: [{ type: "move", from: reg(0, 4), to: reg(29, 4) }] }],
        ["group", { actions: [{ type: "group", group: 2 ** 32 }] }],
        ["meter", { actions: [{ type: "meter", meter: 0.5 }] }],
        ["set_queue", { actions: [{ type: "set_queue", queue: -1 }] }],
        ["push_vlan.etherType", { actions: [{ type: "push_vlan", etherType: 65536 }] }],
        ["resubmit.port", { actions: [{ type: "resubmit", port: 0xff00 }] }],
        ["resubmit.table", { actions: [{ type: "resubmit", table: 256 }] }],
        ["ct.zone", { actions: [{ type: "ct", zone: reg(20, 16) }] }],
        [
            "ct.zone: 65 bits, at most 64",
            { actions: [{ type: "ct", zone: { field: "ct_label", offset: 0, bits: 65 } }] },
        ],
        [
            "output_field.source: 128 bits, at most 64",
            { actions: [{ type: "output_field", source: { field: "xxreg0", offset: 0, bits: 128 } }] },
        ],
        [
            "output_field.source: in_port[0..16] lies outside the field, which has 16 bits",
            { actions: [{ type: "output_field", source: { field: "in_port", offset: 0, bits: 17 } }] },
        ],
        ["ct.table", { actions: [{ type: "ct", zone: 0, table: 256 }] }],
        ["ct.alg", { actions: [{ type: "ct", zone: 0, alg: 65536 }] }],
        ["nat port", { actions: [{ type: "ct", zone: 0, nat: { kind: "src", portMin: 65536 } }] }],
        ["nat: portMax needs portMin", { actions: [{ type: "ct", zone: 0, nat: { kind: "src", portMax: 1 } }] }],
        [
            "nat: max needs min",
            { actions: [{ type: "ct", zone: 0, nat: { kind: "src", max: { family: 4, value: 1n } } }] },
        ],
        ["conjunction.id", { actions: [{ type: "conjunction", clause: 1, clauses: 2, id: 2 ** 32 }] }],
        ["learn.table", { actions: [{ type: "learn", table: 256, specs: [] }] }],
        ["learn.priority", { actions: [{ type: "learn", table: 1, priority: 65536, specs: [] }] }],
        ["learn.cookie", { actions: [{ type: "learn", table: 1, cookie: -1n, specs: [] }] }],
        ["learn.idleTimeout", { actions: [{ type: "learn", table: 1, idleTimeout: 65536, specs: [] }] }],
        ["learn.hardTimeout", { actions: [{ type: "learn", table: 1, hardTimeout: 65536, specs: [] }] }],
        ["learn.finIdleTimeout", { actions: [{ type: "learn", table: 1, finIdleTimeout: 65536, specs: [] }] }],
        ["learn.finHardTimeout", { actions: [{ type: "learn", table: 1, finHardTimeout: 65536, specs: [] }] }],
        ["learn.limit", { actions: [{ type: "learn", table: 1, limit: 2 ** 32, specs: [] }] }],
        [
            "learn match: reg0",
            {
                actions: [
                    { type: "learn", table: 1, specs: [{ kind: "match", field: reg(0, 33), source: { value: 1 } }] },
                ],
            },
        ],
        [
            "learn load: reg0",
            { actions: [{ type: "learn", table: 1, specs: [{ kind: "load", to: reg(0, 0), source: { value: 0 } }] }] },
        ],
        [
            "learn output: reg0",
            { actions: [{ type: "learn", table: 1, specs: [{ kind: "output", source: reg(0.5, 1) }] }] },
        ],
        [
            "learn source: reg0",
            { actions: [{ type: "learn", table: 1, specs: [{ kind: "load", to: reg(0, 4), source: reg(30, 4) }] }] },
        ],
        [
            "learn: reg0 gives 5 bits, reg0 takes 4",
            { actions: [{ type: "learn", table: 1, specs: [{ kind: "load", to: reg(0, 4), source: reg(0, 5) }] }] },
        ],
        [
            "learn: -1 does not fit into 4 bits",
            { actions: [{ type: "learn", table: 1, specs: [{ kind: "load", to: reg(0, 4), source: { value: -1 } }] }] },
        ],
        [
            "learn: 1.5 does not fit into 4 bits",
            {
                actions: [
                    { type: "learn", table: 1, specs: [{ kind: "load", to: reg(0, 4), source: { value: 1.5 } }] },
                ],
            },
        ],
        ["controller.id", { actions: [{ type: "controller", id: 65536 }] }],
        ["controller.maxLength", { actions: [{ type: "controller", maxLength: 65536 }] }],
        ["controller.meter", { actions: [{ type: "controller", meter: 2 ** 32 }] }],
        ["controller.userdata.length", { actions: [{ type: "controller", userdata: new Uint8Array(65536) }] }],
        ["writeMetadata.value", { writeMetadata: { value: 1n << 64n, mask: 0n } }],
        ["writeMetadata.mask", { writeMetadata: { value: 0n, mask: -1n } }],
        ["flow to add: table, priority and actions", { priority: undefined as never }],
        ["flow to add: table, priority and actions", { table: undefined as never }],
        ["flow to add: table, priority and actions", { actions: undefined as never }],
        ["table 255", { table: 255 }],
    ])("names %s", (name, flow) => {
        const error = failure(flow);
        expect(error.message.startsWith(name)).toBe(true);
        expect(error).toMatchObject({ code: "BAD_VALUE", fault: "caller" });
    });

    it.each<[string, number, number]>([
        ["none", 1, 0],
        ["the first of one", 1, 1],
        ["of 65", 1, 65],
        ["before the first", 0, 2],
        ["no integer", 1.5, 2],
        ["of no integer", 1, 2.5],
    ])("a clause: %s", (_name, clause, clauses) => {
        const error = failure({ actions: [{ type: "conjunction", clause, clauses, id: 7 }] });
        expect(error.message).toBe(`conjunction 7: clause ${clause} of ${clauses}; 2 to 64 clauses, counted from 1`);
    });

    it.each([
        ["too short", "ffff0004"],
        ["not as long as it states", "ffff000800000001ff"],
        ["no multiple of 8", "ffff000c0000000000000000"],
        ["empty", ""],
    ])("a raw action that is %s", (_name, text) => {
        const error = failure({ actions: [{ type: "raw", bytes: bytes(text) }] });
        expect(error).toMatchObject({ code: "BAD_VALUE", message: expect.stringMatching(/^raw action: \d+ bytes/) });
    });

    it.each<[string, Partial<FlowLike>]>([
        ["64 clauses", { actions: [{ type: "conjunction", clause: 64, clauses: 64, id: 1 }] }],
        ["2 clauses", { actions: [{ type: "conjunction", clause: 1, clauses: 2, id: 1 }] }],
        ["the last port below the reserved ones", { actions: [{ type: "resubmit", port: 0xfeff }] }],
        ["the first reserved port", { actions: [{ type: "resubmit", port: 0xffffff00 }] }],
        ["a raw action of 8 bytes", { actions: [{ type: "raw", bytes: bytes("ffff000800000001") }] }],
        ["a whole register", { actions: [{ type: "move", from: reg(0, 32), to: reg(0, 32) }] }],
        ["table 253", { table: 253 }],
        ["the largest numbers", { priority: 65535, idleTimeout: 65535, cookie: (1n << 64n) - 1n }],
    ])("accepts %s", (_name, flow) => {
        expect(() => encode(flow)).not.toThrow();
    });

    it("deletes and modifies in all tables, without naming actions", () => {
        for (const command of ["modify", "modify_strict", "delete", "delete_strict"] as const) {
            const writer = new Writer();
            writeFlowMod(writer, 1, {
                command,
                flow: { match: {} },
                cookieMask: 1n,
                checkOverlap: true,
                resetCounts: true,
            });
            const message = decodeMessage(writer.finish());
            expect(message).toMatchObject({
                mod: { command, flow: { match: {} }, cookieMask: 1n, checkOverlap: true, resetCounts: true },
            });
        }
        // A deletion has no instructions.
        for (const command of ["delete", "delete_strict"] as const) {
            const writer = new Writer();
            writeFlowMod(writer, 1, { command, flow: { match: {}, actions: [{ type: "output", port: 1 }] } });
            expect(decodeMessage(writer.finish())).toMatchObject({ mod: { command, flow: { actions: [] } } });
        }
    });
});
