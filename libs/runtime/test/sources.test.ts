import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { namesIn, readSources } from "../src/testing/index.ts";

let root: string;

beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), "sources-"));
    mkdirSync(join(root, "a/inner"), { recursive: true });
    mkdirSync(join(root, "b"));
    writeFileSync(join(root, "top.ts"), 'call("none")');
    writeFileSync(join(root, "a/feature.ts"), 'call("one"); call("two"); other("no")');
    writeFileSync(join(root, "a/inner/x.ts"), "call(\n)");
    writeFileSync(join(root, "b/feature.ts"), 'call(\n    "three")');
    writeFileSync(join(root, "b/notes.md"), 'call("none")');
});
afterAll(() => rmSync(root, { recursive: true }));

it("names in sources have the folder of their file; those of other files and of no folder are not read", () => {
    const sources = readSources(pathToFileURL(`${root}/`));
    const read = sources.map(({ folder, path }) => `${folder} ${path}`).sort();
    expect(read).toEqual(["a feature.ts", "a inner/x.ts", "b feature.ts"]);
    const names = namesIn(sources, /\bcall\(\s*"([^"]*)"/g);
    expect(names.toSorted()).toEqual([
        ["a", "one"],
        ["a", "two"],
        ["b", "three"],
    ]);
});
