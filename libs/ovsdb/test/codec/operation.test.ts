import { describe, expect, it } from "@jest/globals";
import {
    assertLock,
    comment,
    encodeOperations,
    insert,
    map,
    mutate,
    named,
    remove,
    select,
    update,
    uuid,
    wait,
    commit,
    abort,
    byUuid,
    set,
    type Operation,
} from "../../src/codec/index.ts";
import { messagesOf } from "../fixtures/captured.ts";

const bridgeRow = { name: 'br-ü"\\\n{[', external_ids: map({ a: "1", b: "2" }), stp_enable: true };
const missing = "11111111-1111-1111-1111-111111111111";

describe("operations", () => {
    it.each<[string, readonly Operation[]]>([
        [
            "insert",
            [
                insert("Open_vSwitch", {}),
                insert("Bridge", bridgeRow, "b"),
                mutate("Open_vSwitch", [], [["bridges", "insert", named("b")]]),
            ],
        ],
        ["select", [select("Bridge", [], ["_uuid", "name", "external_ids", "fail_mode", "ports", "stp_enable"])]],
        ["wrong value", [comment("x"), update("Bridge", [], { fail_mode: "bad" }), comment("y")]],
        ["lost reference", [update("Bridge", [], { ports: uuid(missing) })]],
        ["lock not owned", [assertLock("antrea_agent")]],
        ["wait timed out", [wait("Bridge", { where: [], columns: ["name"], until: "==", rows: [], timeoutMs: 0 })]],
    ])("are written as ovsdb-client writes them: %s", (name, operations) => {
        const [request] = messagesOf(name, "client");
        expect(request).toEqual(expect.objectContaining({ kind: "request", method: "transact" }));
        const params = request?.kind === "request" ? request.params : [];
        expect(JSON.parse(JSON.stringify(encodeOperations(operations)))).toEqual(params.slice(1));
    });

    it("are written as RFC 7047 has them", () => {
        const operations = [
            remove("Port", [["name", "==", "a"], ["tag", "!=", set()], byUuid(missing)]),
            mutate(
                "Port",
                [],
                [
                    ["external_ids", "delete", set("a", "b")],
                    ["tag", "+=", 1],
                ],
            ),
            commit(true),
            abort(),
        ];
        expect(encodeOperations(operations)).toEqual([
            {
                op: "delete",
                table: "Port",
                where: [
                    ["name", "==", "a"],
                    ["tag", "!=", ["set", []]],
                    ["_uuid", "==", ["uuid", missing]],
                ],
            },
            {
                op: "mutate",
                table: "Port",
                where: [],
                mutations: [
                    ["external_ids", "delete", ["set", ["a", "b"]]],
                    ["tag", "+=", 1],
                ],
            },
            { op: "commit", durable: true },
            { op: "abort" },
        ]);
    });

    it.each<[string, Operation, string]>([
        [
            "a column",
            insert("Port", { name: "a\0" }),
            "operation 1 (insert into Port): row column name must not have a NUL",
        ],
        [
            "a condition",
            remove("Port", [["name", "==", "\ud800"]]),
            "operation 1 (delete from Port): where[0] (name) must be",
        ],
        [
            "a mutation",
            mutate("Port", [], [["tag", "+=", NaN]]),
            "operation 1 (mutate of Port): mutations[0] (tag) must be",
        ],
        ["a row's name", insert("Port", {}, "1a"), "operation 1 (insert into Port): uuidName must be a name"],
        ["a lock", assertLock("antrea-agent"), "operation 1 (assert of lock antrea-agent): lock must be a name"],
        ["a comment", comment("\0"), "operation 1 (comment): comment must not have a NUL"],
        [
            "a time limit",
            wait("Port", { where: [], columns: [], until: "==", rows: [], timeoutMs: -1 }),
            "operation 1 (wait on Port): timeoutMs must be",
        ],
    ])("name %s that cannot be written", (_name, operation, message) => {
        const encode = (): unknown => encodeOperations([abort(), operation]);
        expect(encode).toThrow(message);
        expect(encode).toThrow(expect.objectContaining({ code: "BAD_ARGUMENT", operationIndex: 1 }));
    });
});
