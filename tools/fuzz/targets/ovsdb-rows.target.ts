import {
    abort,
    applyDifference,
    decodeResults,
    decodeRpcMessage,
    decodeSchema,
    decodeTableUpdates,
    decodeValue,
    encodeRow,
    fromServerError,
    insert,
    JsonSplitter,
    mutate,
    OvsdbError,
    pickColumns,
    select,
    update,
    type DatabaseSchema,
    type RpcMessage,
} from "@antrea/ovsdb";
import { FuzzError } from "../error.ts";
import { fileText, isRecord } from "../fixture.ts";
import { joined } from "../mutate/bytes.ts";
import { mustEqual, type Target } from "../target.ts";

const wanted = {
    Bridge: [
        "_uuid",
        "name",
        "ports",
        "external_ids",
        "datapath_type",
        "protocols",
        "fail_mode",
        "mcast_snooping_enable",
    ],
    Port: ["_uuid", "name", "interfaces", "external_ids", "tag"],
    Interface: ["_uuid", "name", "ofport", "ofport_request", "type", "options", "error", "external_ids", "mtu"],
    Open_vSwitch: ["_uuid", "bridges", "external_ids", "other_config", "next_cfg"],
};

let schema: DatabaseSchema | undefined;

/** The parameters of update and update2, schemas, results of transactions and errors, as ovsdb-server may send them. */
export const target: Target = {
    // Large enough for values that overflow a stack.
    maxBytes: 40_000,
    format: "json",
    seeds: () => {
        const messages = captured();
        const uuid = "36bef046-7da7-43a5-905a-c17899216fcb";
        const row = { name: "p", interfaces: ["uuid", uuid], external_ids: ["map", [["a", "b"]]], tag: ["set", []] };
        const made = [
            ["m", { Port: { [uuid]: { old: row, new: row } } }],
            ["m", { Port: { [uuid]: { insert: row }, [uuid.replace("3", "4")]: { delete: null } } }],
            ["m", { Port: { [uuid]: { modify: { external_ids: ["map", [["a", "c"]]], tag: 7 } } } }],
            ["m", { Interface: { [uuid]: { initial: { name: "i", ofport: ["set", [1]], mtu: 1450 } } } }],
            ["m", { Open_vSwitch: { [uuid]: { initial: { next_cfg: 3, bridges: ["set", [["uuid", uuid]]] } } } }],
            [{ uuid: ["uuid", uuid] }, { count: 1 }, { count: 2 }, { rows: [row] }],
            [{}, { error: "constraint violation", details: "no" }],
        ];
        const sent = messages.flatMap((message): readonly unknown[] => {
            if (message.kind === "response") return [message.error ?? message.result];
            return [message.params];
        });
        return [...made, ...sent].map((value) => JSON.stringify(value)).filter((text) => text.length < 4_000);
    },
    run: (input) => {
        schema ??= schemaOf();
        const value = refusable(() => ["", ...new JsonSplitter(1 << 20).push(wrapped(input))].at(-1));
        if (!isRecord(value)) return;
        rows(value.value, schema);
    },
    isRefusal: () => false,
};

/** The value as a member of an object, as the stream delivers only objects. */
function wrapped(input: Uint8Array): Uint8Array {
    return joined(new TextEncoder().encode('{"value":'), input, new TextEncoder().encode("}"));
}

function rows(value: unknown, known: DatabaseSchema): void {
    refusable(() => decodeRpcMessage(value));
    refusable(() => decodeSchema(value));
    refusable(() => decodeResults(value, operations, known));
    fromServerError(value, "request");
    updates(Array.isArray(value) ? value.find(isRecord) : value, known);
}

const operations = [
    insert("Port", { name: "p" }),
    update("Port", [["name", "==", "p"]], { tag: 1 }),
    mutate("Port", [["name", "==", "p"]], [["tag", "+=", 1]]),
    select("Port", [["name", "==", "p"]], ["name", "interfaces", "external_ids", "tag"]),
    abort(),
];

function updates(raw: unknown, known: DatabaseSchema): void {
    const monitored = pickColumns(known, wanted);
    for (const format of ["updates", "updates2"] as const) {
        const rows = refusable(() => decodeTableUpdates(raw, format, monitored)) ?? [];
        for (const { table, update: change } of rows) {
            const columns = monitored.get(table);
            if (columns === undefined) continue;
            if (change.kind === "insert" || change.kind === "replace") {
                // Valid from the server but not encodable: numbers that JavaScript cannot represent exactly.
                const row = refusable(() => encodeRow(change.row as never, "row"));
                if (row === undefined) continue;
                for (const [column, type] of columns) {
                    const again = decodeValue(row[column], type, column);
                    mustEqual(`column ${column} encoded and decoded`, again, change.row[column]);
                }
            }
            if (change.kind !== "modify") continue;
            for (const [column, difference] of change.difference) {
                const type = columns.get(column);
                if (type !== undefined) applyDifference(difference, difference, type);
            }
        }
    }
}

function refusable<T>(decode: () => T): T | undefined {
    try {
        return decode();
    } catch (error) {
        if (error instanceof OvsdbError && error.fault !== "internal") return undefined;
        throw error;
    }
}

function captured(): readonly RpcMessage[] {
    const exchanges = JSON.parse(fileText("libs/ovsdb/test/fixtures/captured.json")) as readonly { server: string }[];
    return exchanges
        .flatMap(({ server }) => [...new JsonSplitter(1 << 20).push(new TextEncoder().encode(server))])
        .map(decodeRpcMessage);
}

function schemaOf(): DatabaseSchema {
    for (const message of captured()) {
        if (message.kind === "response" && isRecord(message.result) && "tables" in message.result) {
            return decodeSchema(message.result);
        }
    }
    throw new FuzzError("NOT_CAPTURED", "environment", "no schema was captured");
}
