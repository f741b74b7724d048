import { describe, expect, it } from "@jest/globals";
import { docstringsOf, draw } from "../docstrings.ts";
import { featureCrossings, importCircles, importGraph, unusedExports } from "../imports.ts";
import { membersOnlyTestsUse } from "../members.ts";
import { parseSource, type Source } from "../sources.ts";
import { spreadGroups } from "../spreads.ts";
import { countTerms } from "../words.ts";

const packages = new Map([["@antrea/ip", "libs/ip/src/index.ts"]]);
const sourcesOf = (files: Readonly<Record<string, string>>): ReadonlyMap<string, Source> =>
    new Map(Object.entries(files).map(([path, text]) => [path, parseSource(path, text)]));

it("finds the circles of imports, by whatever detour, types included", () => {
    const sources = sourcesOf({
        "apps/a/src/one.ts": 'import { two } from "./two.ts";',
        "apps/a/src/two.ts": 'import type { Three } from "./three.ts"; export const two = 2;',
        "apps/a/src/three.ts": 'export { one } from "./one.ts"; export type Three = 3;',
        "apps/a/src/four.ts": 'import { two } from "./two.ts"; import { ip } from "@antrea/ip";',
        "libs/ip/src/index.ts": 'export { ip } from "./ip.ts";',
        "libs/ip/src/ip.ts": "export const ip = 1;",
    });
    const graph = importGraph(sources, packages);
    expect(graph.get("apps/a/src/four.ts")).toEqual(["apps/a/src/two.ts", "libs/ip/src/index.ts"]);
    expect(importCircles(graph)).toEqual([["apps/a/src/one.ts", "apps/a/src/three.ts", "apps/a/src/two.ts"]]);
});

it("finds what a feature imports of another, and nothing else", () => {
    const sources = sourcesOf({
        "apps/a/src/features/x/feature.ts":
            'import "../y/index.ts"; import "./inside.ts"; import "../../platform/p.ts";',
        "apps/a/src/features/x/inside.ts": "",
        "apps/a/src/features/y/index.ts": "",
        "apps/a/src/platform/p.ts": "",
    });
    expect(featureCrossings(importGraph(sources, packages))).toEqual([
        "apps/a/src/features/x/feature.ts -> apps/a/src/features/y/index.ts",
    ]);
});

it("finds exports that nobody or only tests use, through the files that pass them on", () => {
    const sources = sourcesOf({
        "libs/ip/src/index.ts": 'export { used, tested, type Options } from "./ip.ts";',
        "libs/ip/src/ip.ts": [
            "export interface Options { readonly a: number }",
            "export function used(options: Options): void {}",
            "export const tested = 1;",
            "export const atHome = 2, never = 3;",
            "const twice = atHome * 2;",
        ].join("\n"),
        "apps/a/src/main.ts": 'import { used } from "@antrea/ip";',
        "libs/ip/test/ip.test.ts": 'import { tested } from "../src/index.ts"; import { atHome } from "../src/ip.ts";',
    });
    expect(unusedExports(sources, packages)).toEqual({
        unnamed: ["libs/ip/src/ip.ts#never"],
        onlyTests: ["libs/ip/src/ip.ts#tested"],
    });
});

it("finds public members of exported classes that only tests use", () => {
    const sources = sourcesOf({
        "libs/ip/src/ip.ts": [
            "export class Ip {",
            "    text() { return this.parts(); }",
            "    parts() {}",
            "    get size() {}",
            "    counted() {}",
            "    called() {}",
            "    #own() {}",
            "}",
            "class Inner { counted() {} }",
        ].join("\n"),
        "apps/a/src/main.ts": "const { size } = ip; log(ip.text());",
        "libs/ip/test/ip.test.ts": "const { counted, parts } = ip;",
    });
    expect(membersOnlyTestsUse(sources.values())).toEqual(["libs/ip/src/ip.ts#Ip.counted"]);
});

it("finds literals that are spread into literals, not those on a condition", () => {
    const source = parseSource("a.ts", "const a = { ...{ b }, ...(c && { c }), ...d };\nf(...[1, 2], ...e);");
    expect(spreadGroups(source)).toEqual(["a.ts:1", "a.ts:2"]);
});

describe("words", () => {
    it.each([
        ["the NIC gets its way back", ["rollback"]],
        ["upgrades and ways back", ["rollback"]],
        ["the agent tells which", ["report, log, return"]],
        ["class PoolBook { look() {} }", ["Cache, Index or Allocator", "check, poll or sync"]],
        ["const isCutOff = new Turns();", ["isolate, isolated", "Mutex"]],
        ["no column says it; the Pod was not looked at", ["report, log, return", "check, poll or sync"]],
        ["it is told to everybody", ["report, log, return"]],
        ["class FakeWorld has NetworkClaims", ["allocation, in names", "cluster, platform, fixture"]],
        ["const claimKind = 1;", ["allocation, in names"]],
        ["readonly claims: NetworkAllocations", ["allocation, in names"]],
        ["for (const [name] of objects.claims)", ["allocation, in names"]],
        ["const { claims } = truth;", ["allocation, in names"]],
        ["claim?.spec.pod", ["allocation, in names"]],
        ["function claimFor(ip: string): IpAllocation {", ["allocation, in names"]],
        ['import { own } from "./forced-claims.ts";', ["allocation, in names"]],
        ['throw new CheckError("CLAIM");', ["allocation, in names"]],
        ["failed claims, by reason", ["allocations, in sentences"]],
        ["when claims have come to rest", ["allocations, in sentences"]],
        ["an agent claims an address: pools.claim(); claimForNetwork(); the claimed one; PersistentVolumeClaims", []],
        ['"ClaimsOutsidePools"; antrea_agent_ipam_claims 2; `claims-open-p99`; const claim = async () => 1;', []],
        ["replayed, with the look for others", ["check, poll or sync"]],
        ["3 looks, and a Live Look", ["check, poll or sync"]],
        ["a lookup of the route; look at the logs; what it overlooks; texts that look like a key", []],
        ["the bridge lets go of its ports", ["report, log, return"]],
        ['it("says which Node has it")', ["report, log, check, in titles and names"]],
        ['it("is isolated, and told on the Pod")', ["report, log, check, in titles and names"]],
        ["const said = helmSays();", ["report, log, check, in titles and names"]],
        ['it("looks up the address of a storyteller, and tells")', []],
        ["await node.allWays()", ["node route, PeerRoute, KernelRoutes"]],
        ["the route of a Node; a way to do it; it turns; checkpoint; who says so; people plant trees", []],
    ])("%s", (text, instead) => {
        expect(
            countTerms(text)
                .filter(({ count }) => count > 0)
                .map(({ term }) => term.instead)
                .sort(),
        ).toEqual([...instead].sort());
    });
});

it("finds words in names of files, and keeps the names that users know", () => {
    const found = (path: string, text = ""): number =>
        countTerms(text, path).reduce((sum, { count }) => sum + count, 0);
    expect(found("tools/simulate/test/forced-claims.test.ts")).toBe(1);
    expect(found("tools/chart/test/claims.ts")).toBe(1);
    expect(found("tools/bench/benchmarks/claims-at-rest.ts")).toBe(0);
    expect(found("apps/antctl/src/check/report.ts", "readonly claims: number;")).toBe(0);
    expect(found("apps/antctl/src/other.ts", "readonly claims: number;")).toBe(1);
});

describe("docstrings", () => {
    it("are those of exported declarations of the product", () => {
        const text = "/** One. */\nexport const one = 1;\n/** Two. */\nconst two = 2;\nexport const three = 3;";
        expect(docstringsOf(parseSource("libs/a/src/a.ts", text))).toEqual([
            { place: "libs/a/src/a.ts:2", text: "/** One. */", declaration: "export const one = 1;" },
        ]);
        expect(docstringsOf(parseSource("libs/a/test/a.ts", text))).toEqual([]);
    });

    it("are drawn the same for the same seed, each once", () => {
        const items = Array.from({ length: 50 }, (_, index) => index);
        expect(draw(items, 30, 7)).toEqual(draw(items, 30, 7));
        expect(draw(items, 30, 7)).not.toEqual(draw(items, 30, 8));
        expect(new Set(draw(items, 60, 1)).size).toBe(50);
    });
});
