import { describe, expect, it } from "@jest/globals";
import {
    assertLock,
    comment,
    decodeResults,
    fromServerError,
    insert,
    mutate,
    select,
    update,
    wait,
    type Operation,
} from "../../src/codec/index.ts";
import { insertedUuid } from "../../src/testing/index.ts";
import { messagesOf, resultOf, vswitch } from "../fixtures/captured.ts";

const schema = vswitch();
const waiting = wait("Bridge", { where: [], columns: ["name"], until: "==", rows: [], timeoutMs: 0 });

describe("results of ovsdb-server", () => {
    it("are read: insert and mutate", () => {
        const results = decodeResults(
            resultOf("insert"),
            [insert("Open_vSwitch", {}), insert("Bridge", {}), mutate("Open_vSwitch", [], [])],
            schema,
        );
        expect(results[2]).toEqual({ op: "mutate", count: 1 });
        expect(insertedUuid(results, 0)).toMatch(/^[0-9a-f-]{36}$/);
        expect(insertedUuid(results, 1)).not.toBe(insertedUuid(results, 0));
        expect(() => insertedUuid(results, 2)).toThrow("is not the result of an insert");
    });

    it("are read: select", () => {
        const operation = select("Bridge", [], ["_uuid", "name", "external_ids", "fail_mode", "ports", "stp_enable"]);
        const bridge = insertedUuid(
            decodeResults(resultOf("insert"), [comment(""), insert("Bridge", {}), comment("")], schema),
            1,
        );
        const row = {
            _uuid: { uuid: bridge },
            name: 'br-ü"\\\n{[',
            external_ids: new Map([
                ["a", "1"],
                ["b", "2"],
            ]),
            fail_mode: [],
            ports: [],
            stp_enable: true,
        };
        expect(decodeResults(resultOf("select"), [operation], schema)).toEqual([{ op: "select", rows: [row] }]);
    });

    it.each<[string, readonly Operation[], number, object]>([
        [
            "wrong value",
            [comment("x"), update("Bridge", [], {}), comment("y")],
            0,
            {
                code: "CONSTRAINT_VIOLATION",
                fault: "caller",
                operationIndex: 1,
                retryable: false,
                message:
                    "operation 1 (update of Bridge) refused by the database: constraint violation: " +
                    "bad is not one of the allowed values ([secure, standalone])",
            },
        ],
        [
            "wrong value",
            [assertLock("l"), update("Bridge", [], {}), comment("y")],
            1,
            { code: "CONSTRAINT_VIOLATION", operationIndex: 0 },
        ],
        [
            "lost reference",
            [update("Bridge", [], {})],
            0,
            {
                code: "REFERENTIAL_INTEGRITY",
                operationIndex: undefined,
                message: expect.stringMatching(
                    /^transaction \(at its commit\) refused by the database: referential integrity/,
                ),
            },
        ],
        [
            "lock not owned",
            [assertLock("antrea_agent")],
            1,
            { code: "NOT_LOCK_OWNER", operationIndex: undefined, retryable: true },
        ],
        ["wait timed out", [waiting], 0, { code: "WAIT_TIMED_OUT", fault: "timeout", operationIndex: 0 }],
    ])("are refused: %s", (name, operations, own, error) => {
        expect(() => decodeResults(resultOf(name), operations, schema, own)).toThrow(expect.objectContaining(error));
    });

    it.each([
        ["unknown database", messagesOf("unknown database", "server")[0], "UNKNOWN_DATABASE"],
        ["a bare string", { error: "unknown method" }, "UNKNOWN_METHOD"],
        ["anything else", { error: { error: "strange", details: 7 } }, "REFUSED"],
        ["no error at all", { error: [1] }, "REFUSED"],
    ])("are refused as a whole: %s", (_name, answer, code) => {
        const error = answer !== undefined && "error" in answer ? answer.error : undefined;
        expect(fromServerError(error, "request transact")).toEqual(expect.objectContaining({ code }));
    });

    it.each([
        ["aborted", "TRANSACTION_ABORTED", "caller"],
        ["canceled", "CANCELED", "aborted"],
        ["constraint violation", "CONSTRAINT_VIOLATION", "caller"],
        ["domain error", "DOMAIN_ERROR", "caller"],
        ["duplicate uuid-name", "DUPLICATE_UUID_NAME", "caller"],
        ["I/O error", "IO_ERROR", "environment"],
        ["not allowed", "NOT_ALLOWED", "caller"],
        ["not owner", "NOT_LOCK_OWNER", "environment"],
        ["not supported", "NOT_SUPPORTED", "unsupported"],
        ["permission error", "NOT_ALLOWED", "caller"],
        ["range error", "RANGE_ERROR", "caller"],
        ["referential integrity violation", "REFERENTIAL_INTEGRITY", "caller"],
        ["resources exhausted", "RESOURCES_EXHAUSTED", "environment"],
        ["syntax error", "SYNTAX_ERROR", "caller"],
        ["timed out", "WAIT_TIMED_OUT", "timeout"],
        ["unknown column", "UNKNOWN_COLUMN", "caller"],
        ["unknown database", "UNKNOWN_DATABASE", "environment"],
        ["unknown method", "UNKNOWN_METHOD", "unsupported"],
        ["a new one", "REFUSED", "remote"],
    ])("have a code and a fault for each of the database's errors: %s", (error, code, fault) => {
        expect(fromServerError({ error, details: "no" }, "request x")).toMatchObject({
            code,
            fault,
            message: `request x refused by the database: ${error}: no`,
            details: { error, reason: "no" },
        });
        const unexplained = fromServerError({ error }, "request x", { operationIndex: 3 });
        expect(unexplained.message).toBe(`request x refused by the database: ${error}`);
        expect(unexplained.details).toEqual({ error, operationIndex: 3 });
    });

    const uuidText = "8819c1ef-f655-4bc1-829e-ef99c7b3e4a1";
    it.each<[string, unknown, Operation, string]>([
        ["no array", {}, comment("x"), "result must be an array, not {}"],
        ["too few results", [], comment("x"), "result must have 1 elements, one for each operation, not 0"],
        ["too many results", [{}, {}], comment("x"), "result must have 1 elements, one for each operation, not 2"],
        ["null", [null], comment("x"), "result[0] must be an object, not null"],
        ["a number", [5], comment("x"), "result[0] must be an object, not 5"],
        ["an insert without UUID", [{}], insert("Port", {}), "result[0].uuid must be an array, not null"],
        [
            "an insert with a name",
            [{ uuid: ["named-uuid", "a"] }],
            insert("Port", {}),
            'result[0].uuid must be ["uuid", "<UUID>"]',
        ],
        ["a wrong UUID", [{ uuid: ["uuid", "a"] }], insert("Port", {}), 'result[0].uuid must be a UUID, not "a"'],
        [
            "a negative count",
            [{ count: -1 }],
            update("Port", [], {}),
            "result[0].count must be a whole number from 0, not -1",
        ],
        ["rows that are none", [{ rows: 1 }], select("Port", []), "result[0].rows must be an array, not 1"],
        [
            "a row without a column",
            [{ rows: [{ _uuid: ["uuid", uuidText] }] }],
            select("Port", [], ["_uuid", "name"]),
            "result[0].rows[0].name must be of type string, not missing",
        ],
    ])("are refused when they are not as they must be: %s", (_name, raw, operation, message) => {
        expect(() => decodeResults(raw, [operation], schema)).toThrow(message);
    });
});
