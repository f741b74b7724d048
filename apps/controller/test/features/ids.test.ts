import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";

const folder = new URL("../../src/features/", import.meta.url).pathname;
const sources = globSync("*/**/*.ts", { cwd: folder }).map((file) => ({
    feature: file.split("/")[0] ?? "",
    text: readFileSync(join(folder, file), "utf8"),
}));
const named = (pattern: RegExp): readonly (readonly [feature: string, name: string])[] =>
    sources.flatMap(({ feature, text }) =>
        [...text.matchAll(pattern)].map(([, name = ""]): readonly [string, string] => [feature, name]),
    );

describe("a feature of the controller has one id: its folder", () => {
    const loggers = named(/(?:\blogger\.child\(|\bpoolComponents\(platform, )"([^"]*)"/g);
    const queues = named(/\bnew WorkQueue\([^]*?\bname: "([^"]*)"/g);
    const features = named(/\breturn \{\s*name: "([^"]*)"/g);

    it("of which all have loggers and some have queues", () => {
        const folders = new Set(sources.map(({ feature }) => feature));
        expect(new Set(loggers.map(([feature]) => feature))).toEqual(folders);
        expect(new Set(features.map(([feature]) => feature))).toEqual(folders);
        expect(queues.length).toBeGreaterThan(3);
    });

    it.each(features)("%s is called %s", (feature, name) => expect(name).toBe(feature));
    it.each(loggers)("%s logs as module %s", (feature, name) => expect(name).toBe(feature));
    it.each(queues)("%s has the work queue %s", (feature, name) => expect(name).toBe(feature));
});
