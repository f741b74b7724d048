import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "@jest/globals";
import { ipAllocations, ipPools } from "../src/resources.ts";
import { customResourceDefinitions } from "../src/schema/definitions.ts";

type Schema = Readonly<Record<string, unknown>>;

// Of JSON Schema, what a structural schema of ours has; the API server refuses or drops the rest.
const keywords = [
    "description",
    "enum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "properties",
    "required",
    "type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-validations",
];

/** Every schema in the definition of a kind, with its path. */
function schemas(schema: Schema, path: string): [string, Schema][] {
    const properties = Object.entries((schema.properties ?? {}) as Readonly<Record<string, Schema>>);
    return [
        [path, schema],
        ...properties.flatMap(([name, one]) => schemas(one, `${path}.${name}`)),
        ...(schema.items === undefined ? [] : schemas(schema.items as Schema, `${path}[]`)),
    ];
}

const [pools, allocations] = customResourceDefinitions();
const all = [pools, allocations].flatMap((definition) => {
    const [version] = definition?.spec.versions ?? [];
    return schemas(version?.schema.openAPIV3Schema ?? {}, definition?.spec.names.kind ?? "");
});

describe("the definitions", () => {
    it.each([
        [ipPools, pools],
        [ipAllocations, allocations],
    ])("are of what is served: %j", ({ group, version, plural, kind }, definition) => {
        expect(definition?.metadata.name).toBe(`${plural}.${group}`);
        expect(definition?.spec).toMatchObject({ group, names: { plural, kind }, versions: [{ name: version }] });
    });

    it("describe every field, for kubectl explain", () => {
        const silent = all.filter(([path, { description, type }]) => {
            const isDescribed = typeof description === "string" && /^[A-Z].*\.$/.test(description);
            // metadata is Kubernetes' own, and items of plain values are described with their list
            return !isDescribed && !path.endsWith(".metadata") && !(path.endsWith("[]") && type === "string");
        });
        expect(silent.map(([path]) => path)).toEqual([]);
    });

    it("have keywords of structural schemas only, and a type each", () => {
        for (const [path, schema] of all) {
            expect({ path, type: typeof schema.type }).toEqual({ path, type: "string" });
            expect(Object.keys(schema).filter((keyword) => !keywords.includes(keyword))).toEqual([]);
        }
    });

    it("bound every text and list that a rule reads", () => {
        const spec = all.filter(([path]) => path.includes(".spec"));
        const unbound = spec.filter(
            ([, { type, maxLength, maxItems, enum: words }]) =>
                (type === "string" && maxLength === undefined && words === undefined) ||
                (type === "array" && maxItems === undefined),
        );
        expect(unbound.map(([path]) => path)).toEqual([]);
    });

    it("name in each rule what is required", () => {
        const rules = all.flatMap(([path, schema]) =>
            ((schema["x-kubernetes-validations"] ?? []) as readonly Schema[]).map((rule) => ({ path, ...rule })),
        );
        expect(rules.length).toBeGreaterThan(20);
        for (const rule of rules) {
            expect(rule).toHaveProperty(
                "message" in rule ? "message" : "messageExpression",
                expect.stringMatching(/\S/),
            );
        }
    });
});

describe("@antrea/crd", () => {
    it.each([
        [".", false],
        ["./schema", true],
    ])("%s loads zod: %j", async (entry, loads) => {
        const script = `
            import { registerHooks } from "node:module";
            let loaded = false;
            registerHooks({ resolve: (name, context, next) => ((loaded ||= /^zod(\\/|$)/.test(name)), next(name, context)) });
            await import(${JSON.stringify(`@antrea/crd${entry.slice(1)}`)});
            console.log(String(loaded));`;
        const cwd = new URL("../", import.meta.url).pathname;
        const { stdout } = await promisify(execFile)("node", ["--input-type=module", "-e", script], { cwd });
        expect(stdout.trim()).toBe(String(loads));
    });
});
