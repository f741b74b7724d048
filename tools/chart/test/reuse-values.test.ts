import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "@jest/globals";
import { parse, parseAllDocuments, stringify } from "yaml";
import { chart, render, required, run } from "./render.ts";

const folder = mkdtempSync(join(tmpdir(), "antrea-chart-"));
afterAll(() => rmSync(folder, { recursive: true }));

type Tree = Readonly<Record<string, unknown>>;

function valuesFile(values: Tree): string {
    const file = join(folder, "given.yaml");
    writeFileSync(file, stringify(values));
    return file;
}

/** The objects of the chart with these values as its own, as with --reuse-values. */
async function renderReused(values: string | URL): Promise<readonly unknown[]> {
    cpSync(chart, folder, { recursive: true });
    cpSync(values, join(folder, "values.yaml"));
    const args = ["template", "antrea", folder, "--kube-version", "1.33.0", "--namespace", "kube-system"];
    const { stdout } = await run("helm", [...args, ...required], { maxBuffer: 16 << 20 });
    return parseAllDocuments(stdout).map((document) => document.toJSON() as unknown);
}

/** Paths of values.yaml: groups of values, values that are texts, numbers or switches, and lists and maps of names. */
interface Paths {
    readonly sections: readonly string[];
    readonly single: readonly string[];
    readonly collections: readonly string[];
}

interface Schema {
    readonly properties?: Readonly<Record<string, Schema>>;
}

function pathsOf(values: Tree, schema: Schema | undefined, above = ""): Paths {
    return Object.entries(values).reduce<Paths>(
        ({ sections, single, collections }, [key, value]) => {
            const path = `${above}${key}`;
            const own = schema?.properties?.[key];
            if (own?.properties !== undefined) {
                const inner = pathsOf(value as Tree, own, `${path}.`);
                return {
                    sections: [...sections, path, ...inner.sections],
                    single: [...single, ...inner.single],
                    collections: [...collections, ...inner.collections],
                };
            }
            return typeof value === "object"
                ? { sections, single, collections: [...collections, path] }
                : { sections, single: [...single, path], collections };
        },
        { sections: [], single: [], collections: [] },
    );
}

const defaults = parse(readFileSync(new URL("values.yaml", chart), "utf8")) as Tree;
const schema = JSON.parse(readFileSync(new URL("values.schema.json", chart), "utf8")) as Schema;
const { sections, single, collections } = pathsOf(defaults, schema);

function valueAt(tree: unknown, path: string): unknown {
    return path.split(".").reduce<unknown>((value, key) => (value as Tree | undefined)?.[key], tree);
}

function sectionOf(path: string): string {
    return path.split(".").slice(0, -1).join(".");
}

function hasPath(tree: Tree, path: string): boolean {
    return path === "" || valueAt(tree, path) !== undefined;
}

function withPath(tree: Tree, [key = "", ...rest]: readonly string[], value: unknown): Tree {
    return { ...tree, [key]: rest.length === 0 ? value : withPath((tree[key] ?? {}) as Tree, rest, value) };
}

const archKey = "kubernetes.io/arch";

function selectorOf(values: Tree, app: string): Tree {
    return valueAt(values, `${app}.nodeSelector`) as Tree;
}

describe("with --reuse-values the values that an earlier release had not have their defaults", () => {
    const fixtures = new URL("fixtures/releases/", import.meta.url);
    const names = readFileSync(new URL("../../upgrade/releases", import.meta.url), "utf8")
        .split("\n")
        .filter((line) => line !== "" && !line.startsWith("#"))
        .map((line) => line.split(" ")[0] ?? "");

    it("of every release that users may come from", () => {
        expect(readdirSync(fixtures).sort()).toEqual(names.map((name) => `${name}.yaml`).sort());
    });

    it.each(names)("of release %s", async (name) => {
        // What had another default stays as it was installed.
        const values = parse(readFileSync(new URL(`${name}.yaml`, fixtures), "utf8")) as Tree;
        const asInstalled = ["agent", "controller", "webhook"]
            .filter((app) => hasPath(values, app) && !Object.hasOwn(selectorOf(values, app), archKey))
            .map((app) => `${app}.nodeSelector.kubernetes\\.io/arch=null`);
        expect(await renderReused(new URL(`${name}.yaml`, fixtures))).toEqual(
            await render(...(asInstalled.length === 0 ? [] : ["--set", asInstalled.join(",")])),
        );
    });

    // Of a section that has a value, Helm takes nothing from the values of the chart that is new.
    it.each(names)("of release %s, with a value set in each section that is new", async (name) => {
        const file = new URL(`${name}.yaml`, fixtures);
        const values = parse(readFileSync(file, "utf8")) as Tree;
        const asOne = single.filter((path) => !hasPath(values, sectionOf(path)));
        const firsts = [...new Map(asOne.toReversed().map((path) => [sectionOf(path), path])).values()];
        expect(firsts.length > 0 || name === names.at(-1)).toBe(true);
        const given = firsts.reduce((tree, path) => withPath(tree, path.split("."), valueAt(defaults, path)), values);
        expect(await renderReused(valuesFile(given))).toEqual(await renderReused(file));
    });

    it("with no values at all", async () => {
        expect(await renderReused(valuesFile({}))).toEqual(await render());
    });
});

describe("a value that is null", () => {
    const nulls = (...paths: readonly string[]): readonly string[] => [
        "--set",
        paths.map((path) => `${path}=null`).join(","),
    ];

    it("is looked for everywhere", () => {
        expect(sections).toEqual(expect.arrayContaining(["ipam", "agentImage", "agent.antreaOVS.securityContext"]));
        expect(single).toEqual(expect.arrayContaining(["trafficEncapMode", "controller.replicas"]));
        expect(collections).toEqual(expect.arrayContaining(["featureGates", "agent.nodeSelector"]));
    });

    // In whatever order Helm takes them.
    it("is filled in by every template that reads values", () => {
        const folderOf = new URL("templates/", chart);
        const without = readdirSync(folderOf, { recursive: true, encoding: "utf8" })
            .filter((name) => /[.](yaml|txt)$/.test(name))
            .map((name) => [name, readFileSync(new URL(name, folderOf), "utf8")] as const)
            .filter(([, text]) => /[.]Values|include "antrea[.](?!labels|podTemplate|resembles)/.test(text))
            .filter(([, text]) => !text.startsWith('{{- include "antrea.fillValues" . -}}'));
        expect(without.map(([name]) => name)).toEqual([]);
    });

    it.each(sections)("has its defaults as section %s", async (path) => {
        expect(await render(...nulls(path))).toEqual(await render());
    });

    it("has its default as text, number or switch", async () => {
        expect(await render(...nulls(...single))).toEqual(await render("--set", "trafficEncapMode=encap"));
    });

    // Helm does not say whether it was taken away or is missing.
    it("has its default as list or map of names", async () => {
        expect(await render(...nulls(...collections))).toEqual(await render());
    });

    it("takes a name out of a map, and a list that is empty is so", async () => {
        const objects = await render(
            "--set",
            "webhook.nodeSelector.kubernetes\\.io/os=null,webhook.nodeSelector.kubernetes\\.io/arch=null",
            "--set-json",
            "webhook.tolerations=[]",
        );
        const webhook = objects.find(
            (object) =>
                valueAt(object, "kind") === "Deployment" && valueAt(object, "metadata.name") === "antrea-webhook",
        );
        const spec = valueAt(webhook, "spec.template.spec") as Tree;
        expect([spec["nodeSelector"] ?? {}, spec["tolerations"] ?? []]).toEqual([{}, []]);
    });
});
