import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { AntreaError, messageOf } from "@antrea/errors";
import {
    encodeOperations,
    map,
    mutate,
    referencesOf,
    select,
    set,
    textMapOf,
    textOf,
    uuid,
    type Operation,
} from "@antrea/ovsdb";
import type { OvsdbSession } from "@antrea/ovsdb/session";
import type { Logger } from "@antrea/runtime";
import { vswitchdAck, configurationColumns } from "../../ovs/bridge/index.ts";
import { UplinkError } from "./errors.ts";
import { awaitAck } from "./own-ports.ts";

const toolTimeoutMs = 10_000;
const types: readonly string[] = ["uplink", "host"];

/** The columns that a session must monitor for `removeByServer`. */
export const portColumns = {
    Bridge: ["ports"],
    Port: ["name", "external_ids"],
    ...configurationColumns,
} as const;

/**
 * Removes the ports of uplinks from a served database and waits up to 3 s until OVS has released them; returns their
 * names, none if there are no such ports. The session must be ready and monitor `portColumns`; rejects as its
 * `transact`.
 *
 * @param names those of these names only; default: all
 */
export async function removeByServer(
    session: OvsdbSession,
    logger: Logger,
    names?: readonly string[],
): Promise<readonly string[]> {
    const ports = [...session.rows("Port")].filter(
        ([, row]) =>
            types.includes(textMapOf(row, "external_ids").get("antrea-type") ?? "") &&
            (names?.includes(textOf(row, "name")) ?? true),
    );
    const uuids = ports.map(([id]) => id);
    const operations = [...session.rows("Bridge")].flatMap(([bridge, row]) => {
        const own = referencesOf(row, "ports").filter((id) => uuids.includes(id));
        return own.length === 0 ? [] : [removal(bridge, own)];
    });
    if (operations.length > 0) {
        await session.transact(operations);
        await awaitAck((limits) => vswitchdAck(session, limits), logger);
    }
    return ports.map(([, row]) => textOf(row, "name"));
}

/**
 * Removes the ports of uplinks from the database file while no server runs, with ovsdb-tool(1), which honours the lock of
 * the file; returns their names, none without the file. Rejects with UplinkError `DATABASE_UNREACHABLE`.
 *
 * @param names those of these names only; default: all
 */
export async function removeFromFile(file: string, names?: readonly string[]): Promise<readonly string[]> {
    if (!existsSync(file)) return [];
    const wanted = types.map((type) =>
        select("Port", [["external_ids", "includes", map({ "antrea-type": type })]], ["_uuid", "name"]),
    );
    const ports = rowsOf(await tool("query", file, wanted)).filter(({ name }) => names?.includes(name) ?? true);
    const bridges = rowsOf(await tool("query", file, [select("Bridge", [], ["_uuid"])]));
    if (ports.length === 0 || bridges.length === 0) return [];
    const ids = ports.map(({ id }) => id);
    await tool(
        "transact",
        file,
        bridges.map(({ id }) => removal(id, ids)),
    );
    return ports.map(({ name }) => name);
}

/** A port that no bridge references is garbage-collected. */
function removal(bridge: string, ports: readonly string[]): Operation {
    return mutate("Bridge", [["_uuid", "==", uuid(bridge)]], [["ports", "delete", set(...ports.map(uuid))]]);
}

class OvsdbToolError extends AntreaError<"REFUSED"> {}

async function tool(command: "query" | "transact", file: string, operations: readonly Operation[]): Promise<unknown> {
    const request = JSON.stringify(["Open_vSwitch", ...encodeOperations(operations)]);
    try {
        const { stdout } = await promisify(execFile)("ovsdb-tool", [command, file, request], {
            timeout: toolTimeoutMs,
        });
        const results: unknown = JSON.parse(stdout);
        if (Array.isArray(results) && results.some(isFailure))
            throw new OvsdbToolError("REFUSED", "environment", stdout.trim());
        return results;
    } catch (cause) {
        throw new UplinkError(
            "DATABASE_UNREACHABLE",
            "environment",
            `ovsdb-tool ${command} ${file} failed: ${messageOf(cause)}; if an ovsdb-server that does not answer has the file, end it first`,
            { cause },
        );
    }
}

function isFailure(result: unknown): boolean {
    return typeof result === "object" && result !== null && "error" in result;
}

function rowsOf(results: unknown): readonly { readonly id: string; readonly name: string }[] {
    if (!Array.isArray(results)) return [];
    return results.flatMap((result: { readonly rows?: readonly Readonly<Record<string, unknown>>[] }) =>
        (result.rows ?? []).map((row) => ({
            id: String((row["_uuid"] as readonly unknown[])[1]),
            name: String(row["name"]),
        })),
    );
}
