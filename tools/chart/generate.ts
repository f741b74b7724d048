// Generates charts/antrea/values.schema.json and charts/antrea/README.md from the comments of values.yaml, and the
// templates of the defaults, the CustomResourceDefinitions and the admission policies from @antrea/crd.
//   generate.ts [--check]     with --check nothing is written; exit code 1 if a file is not up to date
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { isMap, isSeq, parseDocument, type Node, type Pair, type Scalar, type YAMLMap } from "yaml";
import { antreaValues } from "./antrea-values.ts";
import { ChartError } from "./error.ts";
import { gatesPage } from "./gates-page.ts";
import { defaultsTemplate, generatedTemplates } from "./templates.ts";
import { schemaOf, settingsTemplate } from "./validation.ts";

interface Value {
    readonly path: string;
    readonly description: string;
    readonly fallback: unknown;
}

type Schema = Record<string, unknown>;

const chart = new URL("../../charts/antrea/", import.meta.url);
const document = parseDocument(readFileSync(new URL("values.yaml", chart), "utf8"));
const values: Value[] = [];
const sections: string[] = [];

function commentLines(comment: string | null | undefined): readonly string[] {
    return (comment ?? "").split("\n").map((line) => line.trim());
}

function typeSchema(value: unknown): Schema {
    if (Array.isArray(value)) return { type: "array" };
    if (typeof value === "number") return { type: "integer" };
    return { type: value === null ? "null" : typeof value };
}

/** A group of values is closed: an unknown key is rejected. */
function groupSchema(map: YAMLMap, path: readonly string[], firstComment: string | null | undefined): Schema {
    const properties: Record<string, Schema> = {};
    map.items.forEach((pair, index) => {
        const key = (pair as Pair<Scalar<string>, Node>).key;
        // The parser attaches the comment above the first key to the map itself.
        const comment = key.commentBefore ?? (index === 0 ? firstComment : undefined);
        properties[key.value] = valueSchema(pair as Pair<Scalar<string>, Node>, [...path, key.value], comment);
    });
    return { type: "object", properties, additionalProperties: false };
}

function valueSchema(
    pair: Pair<Scalar<string>, Node>,
    path: readonly string[],
    comment: string | null | undefined,
): Schema {
    const lines = commentLines(comment);
    const description = lines.find((line) => line.startsWith("-- "))?.slice(3);
    const extra = lines.find((line) => line.startsWith("@schema "))?.slice(8);
    const node = pair.value;
    if (description === undefined) {
        if (isMap(node)) {
            sections.push(path.join("."));
            return groupSchema(node, path, node.commentBefore);
        }
        throw new ChartError("UNREADABLE", "caller", `values.yaml: ${path.join(".")} has no description ("# -- …")`);
    }
    const fallback: unknown = isMap(node) || isSeq(node) ? node.toJSON() : (node as Scalar).value;
    values.push({ path: path.join("."), description, fallback });
    return {
        description,
        ...typeSchema(fallback),
        ...schemaOf(path.join(".")),
        ...(extra === undefined ? {} : (JSON.parse(extra) as Schema)),
    };
}

const root = document.contents;
if (!isMap(root)) throw new ChartError("UNREADABLE", "caller", "values.yaml is not a map");
const body = groupSchema(root as YAMLMap, [], root.commentBefore ?? document.commentBefore);
// Values of upstream Antrea that this chart lacks: templates/_validate.tpl validates them.
for (const { path } of antreaValues) allow(body, path.split("."));
// Helm passes `global` to every chart.
(body["properties"] as Record<string, Schema>)["global"] = { type: "object" };
const schema = { $schema: "https://json-schema.org/draft-07/schema#", ...body };

/** Makes a schema accept any value at a path. */
function allow(level: Schema, [step = "", ...rest]: readonly string[]): void {
    const properties = level["properties"] as Record<string, Schema>;
    if (rest.length === 0 && step in properties)
        throw new ChartError("UNREADABLE", "caller", `antrea-values.ts: ${step} is a value of the chart`);
    const group = { type: "object", properties: {}, additionalProperties: false };
    const next = (properties[step] ??= rest.length === 0 ? {} : group);
    if (rest.length > 0) allow(next, rest);
}

function cell(text: string): string {
    return text.replaceAll("|", "\\|");
}

const rows = values.map(
    ({ path, description, fallback }) => `| ${path} | \`${cell(JSON.stringify(fallback))}\` | ${cell(description)} |`,
);
const readme = `# The Antrea chart

A Kubernetes network plugin on Open vSwitch.

\`\`\`
helm upgrade --install antrea charts/antrea --namespace kube-system
\`\`\`

The default images are in no registry: build and push them first, and set their values, as
[README.md](../../README.md#install-on-your-own-cluster) describes. A later \`helm upgrade\` keeps them with
\`--reset-then-reuse-values\`.

This page is generated from \`values.yaml\` by \`make generate\`.

## Values

| Key | Default | Description |
|---|---|---|
${rows.sort().join("\n")}
`;

const files: readonly [string, string][] = [
    ["values.schema.json", `${JSON.stringify(schema, undefined, 2)}\n`],
    ["README.md", readme],
    ["templates/_defaults.tpl", defaultsTemplate(document.toJSON(), sections)],
    ["templates/_settings.tpl", settingsTemplate()],
    ["../../docs/feature-gates.md", await gatesPage()],
    ...generatedTemplates(),
];
const check = process.argv.includes("--check");
let stale = 0;
for (const [name, content] of files) {
    const url = new URL(name, chart);
    let current = "";
    try {
        current = readFileSync(url, "utf8");
    } catch {
        // does not exist yet
    }
    if (current === content) continue;
    stale += 1;
    if (check) {
        process.stderr.write(`${name} differs from its source; run make generate\n`);
        continue;
    }
    mkdirSync(new URL(".", url), { recursive: true });
    writeFileSync(url, content);
}
process.exitCode = check && stale > 0 ? 1 : 0;
