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
        const apps = ["agent", "controller", ...(name === "routing" ? [] : ["webhook"])];
        const asInstalled = apps.map((app) => `${app}.nodeSelector.kubernetes\\.io/arch=null`);
        expect(await renderReused(new URL(`${name}.yaml`, fixtures))).toEqual(
            await render("--set", asInstalled.join(",")),
        );
    });

    it("with no values at all", async () => {
        expect(await renderReused(valuesFile({}))).toEqual(await render());
    });
});

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

/** A copy in which these lists and maps are empty. */
function emptied(values: Tree, paths: readonly string[], above = ""): Tree {
    const copy = (key: string, value: unknown): unknown => {
        const path = `${above}${key}`;
        if (paths.includes(path)) return Array.isArray(value) ? [] : {};
        return typeof value === "object" ? emptied(value as Tree, paths, `${path}.`) : value;
    };
    return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, copy(key, value)]));
}

describe("a value that is null", () => {
    const defaults = parse(readFileSync(new URL("values.yaml", chart), "utf8")) as Tree;
    const schema = JSON.parse(readFileSync(new URL("values.schema.json", chart), "utf8")) as Schema;
    const { sections, single, collections } = pathsOf(defaults, schema);
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

    // So Helm takes away what a chart has by default.
    it("is nothing as list or map of names", async () => {
        const expected = await renderReused(valuesFile(emptied(defaults, collections)));
        expect(await render(...nulls(...collections))).toEqual(expected);
    });
});
