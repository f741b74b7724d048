import { describe, expect, it } from "@jest/globals";
import { OpenFlowError, writeFlowMod, Writer, type Action, type FlowLike, type Match } from "../../src/codec/index.ts";

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
        expect(error.fault).toBe("caller");
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
        expect(failure({ actions: [action] }).message).toMatch(message);
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
});
