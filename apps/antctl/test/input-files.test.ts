import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { readSources } from "../src/input-files.ts";

let folder: string;

beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "antctl-"));
    mkdirSync(join(folder, "b", "empty"), { recursive: true });
    for (const name of ["c.yml", "a.yaml", "d.json", "notes.txt", "b/e.yaml"]) writeFileSync(join(folder, name), name);
});
afterAll(() => rmSync(folder, { recursive: true }));

describe("readSources", () => {
    const names = (path: string, recursive = false): readonly string[] =>
        readSources(join(folder, path), recursive).map(({ text }) => text);

    it("reads a file, whatever its name, and the manifests of a folder", () => {
        expect(names("notes.txt")).toEqual(["notes.txt"]);
        expect(names("")).toEqual(["a.yaml", "c.yml", "d.json"]);
        expect(names("", true)).toEqual(["a.yaml", "b/e.yaml", "c.yml", "d.json"]);
    });

    it("reports what it cannot read", () => {
        expect(() => readSources("/nowhere", false)).toThrow("cannot read /nowhere: there is no such file or folder");
        expect(() => names("b/empty")).toThrow("empty has no .json, .yaml or .yml files");
    });
});
