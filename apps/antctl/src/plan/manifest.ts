import { ipPools, type IpPool } from "@antrea/crd";
import { ipPoolSpec, ipRange } from "@antrea/crd/schema";
import { type Refusal } from "@antrea/ipam";
import { CliError } from "../errors.ts";
import { type Source } from "../input-files.ts";
import { fieldsOf, objectsOf, textOf, unknownKeys, type Fields } from "../manifest-objects.ts";
import { isName } from "../object-names.ts";
import { someOf } from "../output/index.ts";

/** The content of the files for `ipam plan`: at least one pool, in the order of the files. */
export interface Manifest {
    readonly pools: readonly PlannedPool[];
    /** Objects of other kinds or versions, such as `ConfigMap a of v1`. */
    readonly ignored: readonly string[];
}

/** A pool of the file and its schema errors. */
export interface PlannedPool {
    /** As in the file; of any shape if there are refusals. */
    readonly object: IpPool;
    /** Schema errors; if there are any, no other rules are evaluated. */
    readonly refusals: readonly Refusal[];
}

/**
 * Reads YAML or JSON files, in order, of one or several documents each; a `kind: List` is replaced by its items. Throws
 * CliError `BAD_INPUT` for text that is no YAML, and if there is no IPPool of the version that is served.
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
        const other = objects.some(({ apiVersion, kind }) => kind === ipPools.kind && isOfGroup(apiVersion));
        const given = `give objects of apiVersion ${ipPools.group}/${ipPools.version} and kind ${ipPools.kind}`;
        const next = other ? `${given}; antctl ipam convert makes them of IPPools of other versions` : given;
        const names = someOf(sources.map(({ name }) => name));
        throw new CliError("BAD_INPUT", "caller", `${names} ${sources.length === 1 ? "has" : "have"} no IPPool`, next);
    }
    return { pools, ignored };
}

function isOfGroup(apiVersion: unknown): boolean {
    return typeof apiVersion === "string" && apiVersion.startsWith(`${ipPools.group}/`);
}

/**
 * Validates one object against the API schema of IPPools, with unknown fields as errors; its apiVersion and kind are
 * not read. Never throws: errors are in `refusals`.
 */
export function plannedPool(object: Fields): PlannedPool {
    const refusals: Refusal[] = [];
    const { name } = fieldsOf(object.metadata);
    if (name === undefined || name === "") {
        refusals.push({ path: "metadata.name", value: "", rule: "must be set" });
    } else if (!isName(name)) {
        const rule = "must be lower case letters, digits, - and . (RFC 1123), at most 253";
        refusals.push({ path: "metadata.name", value: textOf(name), rule });
    }
    refusals.push(...unknownFields(object));
    const spec = ipPoolSpec.safeParse(object.spec);
    for (const { path, message } of spec.error?.issues ?? []) {
        const value = valueAt(object.spec, path);
        const rule = message.replace(/^Invalid input: /, "");
        refusals.push({ path: pathText(path), value: value === undefined ? "" : textOf(value), rule });
    }
    // Of a refused object only the name is printed, so the cast is safe for any spec.
    return { object: object as unknown as IpPool, refusals };
}

const fieldsOfObject = ["apiVersion", "kind", "metadata", "spec", "status"];

/** Unknown fields, which the API server rejects with strict field validation, kubectl's default. */
function unknownFields(object: Fields): readonly Refusal[] {
    const spec = fieldsOf(object.spec);
    const ranges = Array.isArray(spec.ipRanges) ? spec.ipRanges.map(fieldsOf) : [];
    return [
        ...unknownKeys("", object, fieldsOfObject),
        ...unknownKeys("spec.", spec, Object.keys(ipPoolSpec.shape)),
        ...ranges.flatMap((range, at) => unknownKeys(`spec.ipRanges[${at}].`, range, Object.keys(ipRange.shape))),
    ];
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
