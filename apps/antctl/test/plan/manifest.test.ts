import { describe, expect, it } from "@jest/globals";
import { CliError } from "../../src/errors.ts";
import { readManifest as readManifests, type Manifest } from "../../src/plan/manifest.ts";

const readManifest = (text: string, name: string): Manifest => readManifests([{ name, text }]);

const pool = (
    name: string,
    spec = "ipVersion: 4, ipRanges: [{cidr: 10.7.0.0/24, gateway: 10.7.0.1, prefixLength: 24}]",
): string => `{apiVersion: crd.antrea.io/v1alpha2, kind: IPPool, metadata: {name: ${name}}, spec: {${spec}}}\n`;

describe("readManifest", () => {
    it("reads several documents, lists, and reports what it does not read", () => {
        const list = `{kind: List, apiVersion: v1, items: [${pool("b")}, {apiVersion: v1, kind: Secret}]}\n`;
        const manifest = readManifest(
            `# pools\n---\n${pool("a")}---\n---\n${list}---\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: c}\n`,
            "f",
        );
        expect(manifest.pools.map(({ object }) => object.metadata?.name)).toEqual(["a", "b"]);
        expect(manifest.ignored).toEqual(["Secret (none) of v1", "ConfigMap c of v1"]);
    });

    it("reads several files, of which some may have no IPPool", () => {
        const sources = [
            { name: "f", text: pool("a") },
            { name: "g", text: "kind: ConfigMap\napiVersion: v1\nmetadata: {name: c}\n" },
            { name: "h", text: pool("b") },
        ];
        const manifest = readManifests(sources);
        expect(manifest.pools.map(({ object }) => object.metadata?.name)).toEqual(["a", "b"]);
        expect(manifest.ignored).toEqual(["ConfigMap c of v1"]);
        expect(() => readManifests([sources[1]!, { name: "i", text: "" }])).toThrow("g, i have no IPPool");
    });

    it("reports how pools of another version become pools of this one", () => {
        const beta = pool("b").replace("v1alpha2", "v1beta1");
        const next = (text: string): string | undefined => {
            try {
                readManifest(text, "f");
            } catch (error) {
                return error instanceof CliError ? error.next : undefined;
            }
            return undefined;
        };
        expect(next(beta)).toMatch(/; antctl ipam convert makes them of IPPools of other versions$/);
        expect(next("")).not.toContain("convert");
    });

    it("reports fields that do not exist, and which may be meant", () => {
        const text = "{apiVersion: crd.antrea.io/v1alpha2, kind: IPPool, metdata: {}, metadata: {name: a}, spec: ";
        const spec =
            "{ipVersion: 4, ipRange: [], other: 1, ipRanges: [{cidr: 10.7.0.0/24, gatway: 10.7.0.1, gateway: 10.7.0.1, prefixLength: 24}]}}";
        expect(readManifest(text + spec, "f").pools[0]?.refusals).toEqual([
            { path: "metdata", value: "", rule: "is no field of an IPPool; did you mean metadata?" },
            { path: "spec.ipRange", value: "", rule: "is no field of an IPPool; did you mean ipRanges?" },
            { path: "spec.other", value: "", rule: "is no field of an IPPool; known are ipVersion, ipRanges" },
            { path: "spec.ipRanges[0].gatway", value: "", rule: "is no field of an IPPool; did you mean gateway?" },
        ]);
    });

    it("reads JSON", () => {
        const json = JSON.stringify({
            apiVersion: "crd.antrea.io/v1alpha2",
            kind: "IPPool",
            metadata: { name: "j" },
            spec: {},
        });
        expect(readManifest(json, "-").pools).toHaveLength(1);
    });

    it.each([
        [
            "a missing gateway",
            "ipVersion: 4, ipRanges: [{cidr: 10.7.0.0/24, prefixLength: 24}]",
            "spec.ipRanges[0].gateway",
            "",
        ],
        [
            "a prefix length that is text",
            'ipVersion: 4, ipRanges: [{cidr: 10.7.0.0/24, gateway: 10.7.0.1, prefixLength: "24"}]',
            "spec.ipRanges[0].prefixLength",
            "24",
        ],
        ["no ranges", "ipVersion: 4, ipRanges: []", "spec.ipRanges", "[]"],
        ["ranges that are no list", "ipVersion: 4, ipRanges: {a: 1}", "spec.ipRanges", '{"a":1}'],
        [
            "another version",
            "ipVersion: 5, ipRanges: [{cidr: 10.7.0.0/24, gateway: 10.7.0.1, prefixLength: 24}]",
            "spec.ipVersion",
            "5",
        ],
    ])("reports %s by the path of its field", (_name, spec, path, value) => {
        const [planned] = readManifest(pool("a", spec), "f").pools;
        expect(planned?.refusals).toEqual([{ path, value, rule: expect.any(String) }]);
    });

    it("reports a missing name, and a spec that is none", () => {
        const text = "{apiVersion: crd.antrea.io/v1alpha2, kind: IPPool}";
        expect(readManifest(text, "f").pools[0]?.refusals.map(({ path }) => path)).toEqual(["metadata.name", "spec"]);
    });

    it.each([
        ["no YAML", "a: [", /^f is no YAML: /],
        ["an alias of nothing", "kind: *k\n", /^f is no YAML: Unresolved alias .*: k$/],
        ["too many aliases", `a: &a [${"x,".repeat(99)}]\nb: [${"*a,".repeat(200)}]\n`, /^f is no YAML: .*alias/],
        ["a value without end", "kind: &k {a: *k}\n", /^f is no YAML: \*k stands inside &k, .*; write the value out$/],
        ["no IPPool", "kind: Pod\napiVersion: v1\n", /^f has no IPPool$/],
        ["nothing", "", /^f has no IPPool$/],
        ["text", "hello", /^f has no IPPool$/],
        ["another version of the API", pool("a").replace("v1alpha2", "v1beta1"), /^f has no IPPool$/],
    ])("refuses a file with %s", (_name, text, message) => {
        const read = (): unknown => readManifest(text, "f");
        expect(read).toThrow(CliError);
        expect(read).toThrow(message);
    });

    it("calls standard input by its name", () => {
        expect(() => readManifest("", "standard input")).toThrow("standard input has no IPPool");
    });
});
