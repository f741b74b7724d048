import { ipPools, type IpPool } from "@antrea/crd";
import { ipPoolSpec, ipRange } from "@antrea/crd/schema";
import { type Refusal } from "@antrea/ipam";
import { documentValue } from "@antrea/settings";
import { parseAllDocuments } from "yaml";
import { CliError } from "../errors.ts";
import { type Source } from "../input-files.ts";
import { oneLine, someOf } from "../output/index.ts";

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

/**
 * Reads files of YAML or JSON, in their order, of one or several documents each; a `kind: List` stands for its items.
 * Throws BAD_INPUT.
 */
export function readManifest(sources: readonly Source[]): Manifest {
    const objects = sources.flatMap(objectsOf);
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
        const names = someOf(sources.map(({ name }) => name));
        throw new CliError("BAD_INPUT", "caller", `${names} ${sources.length === 1 ? "has" : "have"} no IPPool`, next);
    }
    return { pools, ignored };
}

function objectsOf({ name, text }: Source): readonly Fields[] {
    return parseAllDocuments(text, { prettyErrors: true }).flatMap((document) => {
        const read = documentValue(document);
        if (!read.isUsable) {
            throw new CliError("BAD_INPUT", "caller", `${name} is no YAML: ${oneLine(read.reason)}`, "correct it");
        }
        return itemsOf(read.value);
    });
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
    refusals.push(...unknownFields(object));
    const spec = ipPoolSpec.safeParse(object.spec);
    for (const { path, message } of spec.error?.issues ?? []) {
        const value = valueAt(object.spec, path);
        const rule = message.replace(/^Invalid input: /, "");
        refusals.push({ path: pathText(path), value: value === undefined ? "" : textOf(value), rule });
    }
    // What is refused is shown by its name and no more, so a spec of another shape does no harm.
    return { object: object as unknown as IpPool, refusals };
}

const fieldsOfObject = ["apiVersion", "kind", "metadata", "spec", "status"];

/** Fields that the API does not have; it refuses them when it is asked to be strict, as kubectl asks. */
function unknownFields(object: Fields): readonly Refusal[] {
    const spec = fieldsOf(object.spec);
    const ranges = Array.isArray(spec.ipRanges) ? spec.ipRanges.map(fieldsOf) : [];
    return [
        ...unknownKeys("", object, fieldsOfObject),
        ...unknownKeys("spec.", spec, Object.keys(ipPoolSpec.shape)),
        ...ranges.flatMap((range, at) => unknownKeys(`spec.ipRanges[${at}].`, range, Object.keys(ipRange.shape))),
    ];
}

function unknownKeys(prefix: string, object: Fields, known: readonly string[]): readonly Refusal[] {
    return Object.keys(object)
        .filter((key) => !known.includes(key))
        .map((key) => {
            const nearest = known.find((one) => isNear(one.toLowerCase(), key.toLowerCase()));
            const hint = nearest === undefined ? `known are ${known.join(", ")}` : `did you mean ${nearest}?`;
            return { path: `${prefix}${key}`, value: "", rule: `is no field of an IPPool; ${hint}` };
        });
}

/** Whether one letter more or less, or another one, makes one text of the other. */
function isNear(a: string, b: string): boolean {
    const [long, short] = a.length >= b.length ? [a, b] : [b, a];
    let at = 0;
    while (at < short.length && long[at] === short[at]) at += 1;
    const [rest, other] = [long.slice(at + 1), short.slice(long.length === short.length ? at + 1 : at)];
    return rest === other;
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
