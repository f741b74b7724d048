import { describe, expect, it } from "@jest/globals";
import { AntreaError } from "@antrea/errors";
import { createLogger, levelFromVerbosity } from "../src/logger.ts";
import { toLogValue } from "../src/log-fields.ts";
import { MemoryLog } from "../src/testing/index.ts";

describe("createLogger", () => {
    it("writes one JSON object a line: level, time, module, fields, message", () => {
        const lines: string[] = [];
        const logger = createLogger({
            module: "antrea-agent",
            destination: { write: (line) => void lines.push(line) },
        });
        logger.child("cni-server", { version: 1 }).info("added a Pod", { pod: "default/a\nb", gone: undefined });
        expect(lines).toHaveLength(1);
        expect(lines[0]).toMatch(/^\{"level":"info","time":"\d{4}-\d\d-\d\dT[\d:.]+Z",.*\}\n$/);
        const { time, ...rest } = JSON.parse(lines[0] ?? "") as Record<string, unknown>;
        expect(typeof time).toBe("string");
        expect(rest).toEqual({
            level: "info",
            module: "cni-server",
            version: 1,
            pod: "default/a\nb",
            msg: "added a Pod",
        });
    });

    it("keeps fields of children of children, and the module of the innermost", () => {
        const log = new MemoryLog();
        log.logger.child("a", { x: 1 }).child("b", { y: 2 }).warn("here");
        expect(log.records).toMatchObject([{ level: "warn", module: "b", x: 1, y: 2, msg: "here" }]);
    });

    it("does not let fields replace what every line has", () => {
        const log = new MemoryLog();
        log.logger.error("real", { msg: "forged", level: "trace", module: "x", time: 0 });
        expect(log.records).toMatchObject([
            { level: "error", msg: "real", module: "test", msg_: "forged", level_: "trace", module_: "x", time_: 0 },
        ]);
    });

    it("leaves out what is below its level", () => {
        const log = new MemoryLog("warn");
        for (const level of ["trace", "debug", "info", "warn", "error"] as const) log.logger[level](level);
        expect(log.messages()).toEqual(["warn", "error"]);
        expect(log.logger.enabled("info")).toBe(false);
        expect(log.logger.child("x").enabled("warn")).toBe(true);
    });

    it.each([
        [0, "info"],
        [1, "debug"],
        [3, "debug"],
        [4, "trace"],
        [10, "trace"],
    ])("--v %i is %s", (verbosity, level) => {
        expect(levelFromVerbosity(verbosity)).toBe(level);
    });
});

class SampleError extends AntreaError<"NO_PORT", { readonly ofport: bigint }> {}

describe("toLogValue", () => {
    it("gives errors with code, fault, details and all causes", () => {
        const root = Object.assign(new TypeError("refused"), { code: "ECONNREFUSED" });
        const middle = new SampleError("NO_PORT", "environment", "no port", { cause: root, details: { ofport: 5n } });
        const error = new SampleError("NO_PORT", "internal", "broken", { cause: middle });
        expect(toLogValue(error)).toEqual({
            type: "SampleError",
            message: "broken",
            code: "NO_PORT",
            fault: "internal",
            stack: expect.stringContaining("SampleError: broken"),
            causes: [
                {
                    type: "SampleError",
                    message: "no port",
                    code: "NO_PORT",
                    fault: "environment",
                    details: { ofport: "5" },
                },
                { type: "TypeError", message: "refused", code: "ECONNREFUSED", stack: expect.any(String) },
            ],
        });
        expect(toLogValue(new AggregateError([middle]))).toMatchObject({
            details: { errors: [{ message: "no port" }] },
        });
        expect(toLogValue({ error: new SampleError("NO_PORT", "caller", "x", { cause: "text" }) })).toMatchObject({
            error: { causes: [{ type: "string", message: "text" }] },
        });
    });

    it.each<[string, unknown, unknown]>([
        ["bytes", new Uint8Array([0, 255]), "00ff"],
        ["a map", new Map([["a", 1n]]), { a: "1" }],
        ["a set", new Set(["a"]), ["a"]],
        ["a date", new Date(0), "1970-01-01T00:00:00.000Z"],
        ["what JSON lacks", [Infinity, () => 1, null, true], ["Infinity", "(function)", null, true]],
        ["a __proto__ key", JSON.parse('{"__proto__": 1}'), JSON.parse('{"__proto__": 1}')],
        ["a long list", Array.from({ length: 102 }, () => 0), [...Array.from({ length: 100 }, () => 0), "(2 more)"]],
        ["long text", "x".repeat(5000), `${"x".repeat(4096)}(cut from 5000 characters)`],
    ])("gives %s as JSON", (_name, value, expected) => {
        expect(toLogValue(value)).toEqual(expected);
    });

    it("bounds what is wide, deep or round", () => {
        const round: Record<string, unknown> = {};
        for (let i = 0; i < 50; i += 1) round[`k${i}`] = round;
        expect(JSON.stringify(toLogValue(round)).length).toBeLessThan(100_000);
        const chain = new Error("a");
        chain.cause = chain;
        expect(JSON.stringify(toLogValue(chain)).length).toBeLessThan(100_000);
    });
});
