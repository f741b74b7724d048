import { gateSpecs, type GateSpec } from "@antrea/settings";
import { format, resolveConfig } from "prettier";

/** Generates docs/feature-gates.md, formatted as every page. */
export async function gatesPage(): Promise<string> {
    const rows = [...gateSpecs]
        .sort((a, b) => (a.name < b.name ? -1 : 1))
        .map(
            (spec) =>
                `| ${spec.name} | ${spec.components.join(", ")} | ${spec.stage} | ${onByDefault(spec)} | ${spec.available ? "yes" : "no"} |`,
        );
    const text = `# Feature gates

This page is generated from \`libs/settings\` by \`make generate\`.

A gate is set by \`featureGates.NAME\` of the chart, which writes it into the settings files of antrea-agent and
antrea-controller, or in ConfigMap \`antrea-config\`, in both files. The rules are those of Kubernetes: alpha gates are off
unless they are set to true, beta gates are on unless they are set to false, and GA gates are always on; to
set one has no effect but a warning.
\`AllAlpha\` and \`AllBeta\` stand for all gates of their stage that are not named.

A gate whose feature is not available in this version is off, whatever its stage. It may be set to false; true is refused,
by helm and by the programs. \`AllAlpha\` and \`AllBeta\` leave it off, with a warning that names it. A name that is not in
this table is refused.

| Gate | Of | Stage | Default | Available |
| --- | --- | --- | --- | --- |
${rows.join("\n")}
`;
    const file = new URL("../../docs/feature-gates.md", import.meta.url).pathname;
    return format(text, { ...(await resolveConfig(file)), parser: "markdown" });
}

/** The default state of a gate. */
function onByDefault({ stage, available }: GateSpec): string {
    return available && stage !== "Alpha" ? "on" : "off";
}
