import {
    admissionPolicies,
    customResourceDefinitions,
    nodePolicies,
    programPolicies,
    unavailablePolicies,
    type CrdManifest,
    type PolicyManifest,
} from "@antrea/crd/schema";
import { stringify } from "yaml";
import { ChartError } from "./error.ts";

const releaseNamespace = "{{ .Release.Namespace }}";

/** The templates generated from @antrea/crd: path in the chart, and content. */
export function generatedTemplates(): readonly [path: string, content: string][] {
    const definitions = customResourceDefinitions().map((definition): [string, string] => [
        `templates/crds/${definition.metadata.name}.yaml`,
        // Deleting the definition would delete every pool and allocation, and addresses in use would be assigned again.
        `${head}${template(definition, { "helm.sh/resource-policy": "keep" })}`,
    ]);
    const policies = admissionPolicies({ namespace: releaseNamespace }).map((policy) => template(policy));
    const ofNodes = nodePolicies({ namespace: releaseNamespace }).map((policy) => template(policy));
    const ofPrograms = programPolicies({ namespace: releaseNamespace }).map((policy) => template(policy));
    const ofNobody = unavailablePolicies().map((policy) => template(policy));
    return [
        ...definitions,
        ["templates/ipam/policies.yaml", `${head}${policies.join("---\n")}`],
        ["templates/agent/policies.yaml", `${head}${ofNodes.join("---\n")}`],
        ["templates/unavailable.yaml", `${head}${ofNobody.join("---\n")}`],
        ["templates/policies.yaml", `${head}${ofPrograms.join("---\n")}`],
    ];
}

/**
 * templates/_defaults.tpl: `antrea.defaults` is values.yaml, which Helm does not pass to templates, and
 * `antrea.sections` the paths of its groups.
 */
export function defaultsTemplate(values: unknown, sections: readonly string[]): string {
    const defaults = stringify(values, { lineWidth: 0 });
    if (defaults.includes("{{"))
        throw new ChartError(
            "NOT_A_TEXT",
            "caller",
            'values.yaml has "{{" in a value, which Helm would take for its own',
        );
    return [
        "{{- /* Generated from values.yaml by make generate. */ -}}",
        '{{- define "antrea.defaults" -}}',
        defaults.trimEnd(),
        "{{- end }}",
        "",
        `{{- define "antrea.sections" -}}${JSON.stringify(sections)}{{- end }}`,
        "",
    ].join("\n");
}

const head = "# Generated from libs/crd by make generate.\n";

function template(manifest: CrdManifest | PolicyManifest, annotations?: Readonly<Record<string, string>>): string {
    const { apiVersion, kind, metadata, spec } = manifest;
    const text = [
        stringify({ apiVersion, kind }),
        "metadata:\n",
        `  name: ${metadata.name}\n`,
        '  labels:\n    {{- include "antrea.labels" . | nindent 4 }}\n',
        annotations === undefined ? "" : indented(stringify({ annotations })),
        // a rule stays on its line, at any length
        stringify({ spec }, { lineWidth: 0, aliasDuplicateObjects: false }),
    ].join("");
    if (
        text.replaceAll(releaseNamespace, "").replace('{{- include "antrea.labels" . | nindent 4 }}', "").includes("{{")
    ) {
        throw new ChartError(
            "NOT_A_TEXT",
            "caller",
            `${kind} ${metadata.name} has "{{" in a text, which Helm would take for its own`,
        );
    }
    return text;
}

function indented(text: string): string {
    return text.replaceAll(/^(?=.)/gm, "  ");
}
