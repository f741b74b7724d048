import { ipPools, type IpPool } from "@antrea/crd";
import { ipPoolSpec } from "@antrea/crd/schema";
import { type Refusal } from "@antrea/ipam";
import { documentValue } from "@antrea/settings";
import { parseAllDocuments } from "yaml";
import { CliError } from "../errors.ts";
import { oneLine } from "../output/index.ts";

/** What a file plans. */
export interface Manifest {
    readonly pools: readonly PlannedPool[];
    /** Objects of other kinds, `ConfigMap a`. */
    readonly ignored: readonly string[];
}

export interface PlannedPool {
    readonly object: IpPool;
    /** What the schema of the API refuses; other rules are not asked then. */
    readonly refusals: readonly Refusal[];
}

type Fields = Readonly<Record<string, unknown>>;

/** Reads YAML or JSON of one or several documents; a `kind: List` stands for its items. Throws BAD_INPUT. */
export function readManifest(text: string, path: string): Manifest {
    const source = path === "-" ? "standard input" : path;
    const objects = parseAllDocuments(text, { prettyErrors: true }).flatMap((document) => {
        const read = documentValue(document);
        if (!read.isUsable) {
            throw new CliError("BAD_INPUT", "caller", `${source} is no YAML: ${oneLine(read.reason)}`, "correct it");
        }
        return itemsOf(read.value);
    });
    const pools: PlannedPool[] = [];
    const ignored: string[] = [];
    for (const object of objects) {
        const { apiVersion, kind } = object;
        if (kind === ipPools.kind && apiVersion === `${ipPools.group}/${ipPools.version}`)
            pools.push(plannedPool(object));
        else ignored.push(`${textOf(kind)} ${textOf(fieldsOf(object.metadata).name)} of ${textOf(apiVersion)}`);
    }
    if (pools.length === 0) {
        const next = `give objects of apiVersion ${ipPools.group}/${ipPools.version} and kind ${ipPools.kind}`;
        throw new CliError("BAD_INPUT", "caller", `${source} has no IPPool`, next);
    }
    return { pools, ignored };
}

function itemsOf(document: unknown): readonly Fields[] {
    if (document === null || document === undefined) return [];
    const object = fieldsOf(document);
    if (object.kind === "List" && Array.isArray(object.items)) return object.items.flatMap(itemsOf);
    return [object];
}

function plannedPool(object: Fields): PlannedPool {
    const refusals: Refusal[] = [];
    const { name } = fieldsOf(object.metadata);
    if (typeof name !== "string" || name === "") {
        refusals.push({ path: "metadata.name", value: "", rule: "must be set" });
    }
    const spec = ipPoolSpec.safeParse(object.spec);
    for (const { path, message } of spec.error?.issues ?? []) {
        const value = valueAt(object.spec, path);
        const rule = message.replace(/^Invalid input: /, "");
        refusals.push({ path: pathText(path), value: value === undefined ? "" : textOf(value), rule });
    }
    // What is refused is shown by its name and no more, so a spec of another shape does no harm.
    return { object: object as unknown as IpPool, refusals };
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
    return path.reduce<unknown>(
        (value, key) => (value as Readonly<Record<PropertyKey, unknown>> | undefined)?.[key],
        root,
    );
}

function pathText(path: readonly PropertyKey[]): string {
    return path.reduce<string>(
        (text, key) => text + (typeof key === "number" ? `[${key}]` : `.${String(key)}`),
        "spec",
    );
}

function fieldsOf(value: unknown): Fields {
    return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function textOf(value: unknown): string {
    if (typeof value === "string") return value;
    return value === undefined ? "(none)" : JSON.stringify(value);
}
