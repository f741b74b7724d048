import { describe, expect, it } from "@jest/globals";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const folder = new URL("..", import.meta.url).pathname;
const sources = globSync("**/*.ts", { cwd: folder, exclude: (name) => name === "test" });
const using = (pattern: RegExp): readonly string[] =>
    sources.filter((name) => pattern.test(readFileSync(join(folder, name), "utf8")));

describe("what is measured runs with the rights that users have", () => {
    it("there are sources to look at", () => expect(sources.length).toBeGreaterThan(50));

    it("no file starts an API server but with the chart's rights and flow control", () => {
        expect(using(/TestApiServer\.start\(/)).toEqual([]);
        expect(using(/startChartServer\(/)).not.toEqual([]);
    });

    it("no program gets the credentials of system:masters", () => {
        expect(using(/\.kubeconfig\(\)/)).toEqual([]);
    });
});
