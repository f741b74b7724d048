import { describe, expect, it } from "@jest/globals";
import { CtMark, load, partsAre, Reg } from "../src/registers.ts";

describe("parts of fields", () => {
    it("merges parts of one field and keeps other fields apart", () => {
        expect(partsAre([Reg.source, 3], [Reg.outputKind, 1], [CtMark.source, 2])).toEqual({
            reg0: { value: 0x200003, mask: 0x60000f },
            ct_mark: { value: 2, mask: 0xf },
        });
    });

    it("writes a part and leaves the rest, up to the highest bit", () => {
        expect(load(Reg.outputKind, 1)).toEqual({ type: "set_field", field: "reg0", value: 0x200000, mask: 0x600000 });
        expect(load(Reg.outputPort, 0xfffffffe)).toMatchObject({ value: 0xfffffffe, mask: 0xffffffff });
    });

    it("no two parts of a field share a bit", () => {
        for (const parts of [Object.values(Reg), Object.values(CtMark)]) {
            const bits = parts.flatMap((part) =>
                Array.from({ length: part.bits }, (_, at) => `${part.field}[${part.offset + at}]`),
            );
            expect(new Set(bits).size).toBe(bits.length);
        }
    });
});
