import { OvsdbError } from "./error.ts";
import { badMessage, member, readCount, readObject, readString, show } from "./reader.ts";

/** Type of an atom: RFC 7047 section 3.2, <atomic-type>. */
export type AtomType = "integer" | "real" | "boolean" | "string" | "uuid";

/**
 * Type of a column: RFC 7047 section 3.2, <type>. A map has `value`; `min` to `max` elements, `max` Infinity for
 * "unlimited".
 */
export interface ColumnType {
    readonly key: AtomType;
    readonly value?: AtomType;
    readonly min: number;
    readonly max: number;
}

/** The columns of a table by name. */
export type TableSchema = ReadonlyMap<string, ColumnType>;

/** The part of a database schema that decoding needs: which columns are atoms, sets and maps, and of which types. */
export interface DatabaseSchema {
    readonly name: string;
    /** Version of the schema: `8.3.0`. */
    readonly version: string;
    readonly tables: ReadonlyMap<string, TableSchema>;
}

const atomTypes: ReadonlySet<unknown> = new Set<AtomType>(["integer", "real", "boolean", "string", "uuid"]);
const uuidColumn: ColumnType = { key: "uuid", min: 1, max: 1 };

/** True for a column of exactly one atom. */
export function isScalar(type: ColumnType): boolean {
    return type.value === undefined && type.min === 1 && type.max === 1;
}

/**
 * Decodes the answer of `get_schema` (RFC 7047 section 4.1.2). Each table also has the columns `_uuid` and `_version`.
 *
 * @throws OvsdbError `BAD_MESSAGE`
 */
export function decodeSchema(raw: unknown): DatabaseSchema {
    const schema = readObject(raw, "schema");
    const tables = new Map<string, TableSchema>();
    for (const [table, body] of Object.entries(readObject(member(schema, "tables"), "schema.tables"))) {
        const path = `schema.tables.${table}`;
        const columns = new Map<string, ColumnType>([
            ["_uuid", uuidColumn],
            ["_version", uuidColumn],
        ]);
        const rawColumns = readObject(member(readObject(body, path), "columns"), `${path}.columns`);
        for (const [column, description] of Object.entries(rawColumns)) {
            const columnPath = `${path}.columns.${column}`;
            columns.set(column, decodeType(member(readObject(description, columnPath), "type"), `${columnPath}.type`));
        }
        tables.set(table, columns);
    }
    return {
        name: readString(member(schema, "name"), "schema.name"),
        version: readString(member(schema, "version"), "schema.version"),
        tables,
    };
}

function decodeType(raw: unknown, path: string): ColumnType {
    if (typeof raw === "string") return { key: decodeBaseType(raw, path), min: 1, max: 1 };
    const type = readObject(raw, path);
    const key = decodeBaseType(member(type, "key"), `${path}.key`);
    const rawValue = member(type, "value");
    const value = rawValue === undefined ? {} : { value: decodeBaseType(rawValue, `${path}.value`) };
    const min = readCount(member(type, "min") ?? 1, `${path}.min`);
    const rawMax = member(type, "max") ?? 1;
    const max = rawMax === "unlimited" ? Infinity : readCount(rawMax, `${path}.max`);
    if (min > 1 || max < 1) throw badMessage(path, "must have min 0 or 1, and max from 1", raw);
    return { key, ...value, min, max };
}

function decodeBaseType(raw: unknown, path: string): AtomType {
    const name = typeof raw === "string" ? raw : member(readObject(raw, path), "type");
    if (!atomTypes.has(name)) throw badMessage(path, "must be an atomic type", name ?? null);
    return name as AtomType;
}

/**
 * The types of these columns, by table; `wanted` has the names of the columns by table.
 *
 * @throws OvsdbError `SCHEMA_MISMATCH` for a table or column that the database does not have
 */
export function pickColumns(
    schema: DatabaseSchema,
    wanted: Readonly<Record<string, readonly string[]>>,
): ReadonlyMap<string, TableSchema> {
    return new Map(Object.entries(wanted).map(([name, columns]) => [name, pick(schema, name, columns)]));
}

function pick(schema: DatabaseSchema, name: string, columns: readonly string[]): TableSchema {
    const table = schema.tables.get(name);
    const version = `database ${schema.name}, schema version ${schema.version}`;
    if (table === undefined) throw mismatch(`there is no table ${show(name)} in ${version}`);
    return new Map(
        columns.map((column) => {
            const type = table.get(column);
            if (type === undefined) throw mismatch(`table ${name} has no column ${show(column)} in ${version}`);
            return [column, type];
        }),
    );
}

function mismatch(what: string): OvsdbError {
    return new OvsdbError("SCHEMA_MISMATCH", "unsupported", `${what}: use a schema that has it`);
}
