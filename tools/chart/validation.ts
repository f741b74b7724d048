import { gateSpecs } from "@antrea/settings";
import { familyBits, formatPrefix, type Prefix } from "@antrea/ip";
import {
    declaredRules,
    maxIndexBits,
    noPodCidr,
    testOf,
    type Condition,
    type KeyTest,
    type ValueTest,
} from "@antrea/settings/rules";
import { antreaValues } from "./antrea-values.ts";
import { ChartError } from "./error.ts";
import { mappedValues, type MappedValue } from "./settings-keys.ts";

// Generates the rules of the settings as Helm templates: what agent or controller would reject at start, helm rejects
// before anything is changed, with the same text.

const values = mappedValues().filter(({ key }) => key !== "featureGates");

/** templates/_settings.tpl: `antrea.settings` prints one line for each invalid value. */
export function settingsTemplate(): string {
    const lines = [...gates(), ...unique(values.flatMap(valueCheck)), ...crossRules()];
    return [
        "{{- /* Generated from libs/settings by make generate. */ -}}",
        '{{- define "antrea.settings" -}}',
        ...lines,
        "{{- end }}",
        "",
        "{{- /* Values of Antrea's chart that are not there, and where they ask for something. */ -}}",
        '{{- define "antrea.antreaValues" -}}',
        "{{- $values := .Values | toYaml | fromYaml }}",
        ...antreaValues.map(
            ({ path, accepted }) =>
                `{{- include "antrea.unserved" (dict "key" ${quoted(path)} "values" $values "accepted" ${texts(accepted)}) }}`,
        ),
        "{{- end }}",
        "",
        "{{- /* Those that are accepted, as Antrea has them by default, and have no effect: for the notes. */ -}}",
        '{{- define "antrea.withoutEffect" -}}',
        "{{- $values := .Values | toYaml | fromYaml }}",
        ...antreaValues
            .filter(({ noted }) => noted.length > 0)
            .map(
                ({ path, noted }) =>
                    `{{- include "antrea.noted" (dict "key" ${quoted(path)} "values" $values "noted" ${texts(noted)}) }}`,
            ),
        "{{- end }}",
        "",
        "{{- /* What no podCIDR can be of, a line each: the bits of the prefix and the rule. */ -}}",
        '{{- define "antrea.noPodCIDR" -}}',
        ...noPodCidr.map(({ name, prefix }) => `${bitsOf(prefix)} must not hold ${name} (${formatPrefix(prefix)})`),
        "{{- end }}",
        "",
        "{{- /* How many bits a Node's podCIDR may be longer than the cluster CIDR. */ -}}",
        `{{- define "antrea.maxIndexBits" -}}${JSON.stringify(maxIndexBits)}{{- end }}`,
        "",
        "{{- /* What a switch of a whole stage leaves off, for the notes. */ -}}",
        ...(["Alpha", "Beta"] as const).flatMap((stage) => [
            `{{- define "antrea.leftOff.All${stage}" -}}`,
            gateSpecs
                .filter((spec) => !spec.available && spec.stage === stage)
                .map(({ name }) => name)
                .join(", "),
            "{{- end }}",
        ]),
        "",
    ].join("\n");
}

/** The part of a value's rule that JSON Schema can express, for its type in values.yaml. */
export function schemaOf(path: string): Readonly<Record<string, unknown>> {
    const mapped = values.find((one) => one.path === path);
    const tested = mapped && testOf(mapped.component, mapped.key);
    if (tested === undefined || tested.isList) return {};
    const { test } = tested;
    if (test.kind === "number") {
        const ends = test.ranges.flat();
        return { minimum: Math.min(...ends), maximum: Math.max(...ends) };
    }
    return test.kind === "words" ? { enum: test.words } : {};
}

/** The family and the bits of a prefix, in the format of `antrea.prefixBits`. */
function bitsOf({ family, base, length }: Prefix): string {
    return `${family}:${base.toString(2).padStart(familyBits(family), "0").slice(0, length)}`;
}

/** A list of values as JSON. */
function texts(all: readonly unknown[]): string {
    return `(list ${all.map((value) => quoted(JSON.stringify(value))).join(" ")})`;
}

function unique(lines: readonly string[]): readonly string[] {
    return [...new Set(lines)];
}

function gates(): readonly string[] {
    const names = (want: (spec: (typeof gateSpecs)[number]) => boolean): string =>
        `(list ${gateSpecs
            .filter(want)
            .map(({ name }) => quoted(name))
            .join(" ")})`;
    const available = names(({ available }) => available);
    const unavailable = names(({ available }) => !available);
    return [
        `{{- include "antrea.gates" (dict "gates" .Values.featureGates "available" ${available} "unavailable" ${unavailable}) }}`,
    ];
}

function valueCheck(value: MappedValue): readonly string[] {
    const tested = testOf(value.component, value.key);
    return tested === undefined ? [] : [`{{- ${included(value, tested)} }}`];
}

/** What prints a line for each invalid part of the value. */
function included({ path }: MappedValue, tested: KeyTest): string {
    const name = tested.isList ? "antrea.list" : `antrea.${tested.test.kind}`;
    const given = `"key" ${quoted(path)} "value" .Values.${path} "rule" ${quoted(inValues(tested.rule))}`;
    return `include ${quoted(name)} (dict ${given} ${argumentsOf(tested)})`;
}

function argumentsOf({ isList, test }: KeyTest): string {
    const kind = isList ? `"test" ${quoted(`antrea.${test.kind}`)} ` : "";
    return kind + testArguments(test);
}

function testArguments(test: ValueTest): string {
    switch (test.kind) {
        case "text":
            return `"match" ${raw(test.match)} "except" ${raw(test.except ?? "")}`;
        case "duration":
            return `"min" ${test.minMs} "max" ${Number.isFinite(test.maxMs) ? test.maxMs : Number.MAX_SAFE_INTEGER}`;
        case "number":
            return `"ranges" (list ${test.ranges.map(([min, max]) => `(list ${min} ${max})`).join(" ")})`;
        case "words":
            return `"words" (list ${test.words.map(quoted).join(" ")})`;
    }
}

/** The rules whose keys are all chart values; others apply to defaults, which violate none. */
function crossRules(): readonly string[] {
    return (["agent", "controller"] as const).flatMap((component) => {
        const own = values.filter((one) => one.component === component);
        return declaredRules(component).flatMap(({ key, rule, wrongWhen }) => {
            const expression = expressionOf(wrongWhen, own);
            if (expression === undefined) return [];
            const path = own.find((one) => one.key === key)?.path ?? key;
            const value = path.startsWith("featureGates.")
                ? `(get .Values.featureGates ${quoted(path.slice(13))})`
                : `.Values.${path}`;
            const finding = `(dict "key" ${quoted(path)} "value" ${value} "rule" ${quoted(inValues(rule))})`;
            // as the programs do: a list with invalid members breaks no other rule
            const list = own.find((one) => one.key === key);
            const tested = list && testOf(component, key);
            const isValid = list && tested?.isList === true ? `(not (${included(list, tested)})) ` : "";
            return [
                `{{- if ${isValid === "" ? expression : `(and ${isValid}${expression})`} }}{{ include "antrea.wrong" ${finding} }}{{ end }}`,
            ];
        });
    });
}

function expressionOf(condition: Condition, own: readonly MappedValue[]): string | undefined {
    const value = (key: string): string | undefined => {
        const path = own.find((one) => one.key === key)?.path;
        return path && `.Values.${path}`;
    };
    if ("is" in condition) {
        const at = value(condition.is[0]);
        return at && `(eq (toString ${at}) ${quoted(String(condition.is[1]))})`;
    }
    if ("same" in condition) {
        const [one, other] = condition.same.map(value);
        return one && other && `(eq ${one} ${other})`;
    }
    if ("empty" in condition) {
        const at = value(condition.empty);
        return at && `(empty ${at})`;
    }
    if ("gate" in condition) {
        const stage = gateSpecs.find(({ name }) => name === condition.gate)?.stage ?? "";
        return `(include "antrea.gateOn" (list .Values.featureGates ${quoted(condition.gate)} ${quoted(stage)}))`;
    }
    if ("not" in condition) {
        const inner = expressionOf(condition.not, own);
        return inner && `(not ${inner})`;
    }
    const all = condition.all.map((one) => expressionOf(one, own));
    return all.includes(undefined) ? undefined : `(and ${all.join(" ")})`;
}

/** A rule with the chart's names of values instead of the keys. */
function inValues(rule: string): string {
    return values
        .filter(({ key, path, component }) => key !== path && `${component}.${key}` !== path)
        .reduce(
            (text, { key, path }) => text.replaceAll(new RegExp(`\\b${key.replaceAll(".", "[.]")}\\b`, "g"), path),
            rule,
        );
}

function quoted(text: string): string {
    return JSON.stringify(text);
}

/** A Go raw string, as patterns need. */
function raw(text: string): string {
    if (text.includes("`") || text.includes("}}"))
        throw new ChartError("NOT_A_TEXT", "caller", `cannot stand in a template: ${text}`);
    return `\`${text}\``;
}
