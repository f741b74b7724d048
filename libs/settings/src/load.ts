import { type z } from "zod";
import { type Finding, SettingsError } from "./errors.ts";
import { type FeatureGates, readFeatureGates } from "./features/gates.ts";
import { type Component } from "./features/specs.ts";
import { knownKeys, suggest } from "./known-keys.ts";
import { formatPath, type Path, upToList, valueAt, without } from "./path.ts";
import { parseYaml, type SettingsText } from "./yaml.ts";

/**
 * A rule over several values, or over a value and what this version supports. `check` gets the parsed values; those
 * that are invalid alone have their defaults.
 */
export interface Rule<Config> {
    /** Dotted keys that it reads. It is skipped if one of them is invalid alone. */
    readonly keys: readonly string[];
    /** Returns the violation with the key to change; undefined if there is none. */
    check(config: Config, gates: FeatureGates): { readonly key: string; readonly rule: string } | undefined;
}

/**
 * A warning about a value that is valid but has no effect, or another one than expected. It is evaluated only if the
 * file is valid.
 */
export interface Notice<Config> {
    /**
     * Returns the warning, if any. `given` returns the value that the file has at a dotted key, undefined if it has
     * none.
     */
    check(config: Config, gates: FeatureGates, given: (key: string) => unknown): string | undefined;
}

/**
 * Definition of a settings file: its name for messages, its schema, which must be valid for an empty file, its rules
 * and notices in the order of evaluation.
 */
export interface FileSpec<Config> {
    readonly name: string;
    readonly component: Component;
    readonly schema: z.ZodType<Config>;
    readonly rules: readonly Rule<Config>[];
    readonly notices: readonly Notice<Config>[];
}

/** A valid settings file: its values, feature gates and warnings. */
export interface Loaded<Config> {
    /** The validated values, with defaults. */
    readonly config: Config;
    /** One line each: unknown keys, then feature gates and values without effect. */
    readonly warnings: readonly string[];
    /** The feature gates that result from `featureGates`. */
    readonly gates: FeatureGates;
}

/**
 * Parses and validates a settings file; an empty text gives the defaults. Unknown keys are warnings. Throws
 * SettingsError `BAD_YAML`, or `WRONG_VALUES` with everything invalid in it, in the order of the file; if that is more
 * than 200 keys, without the list. `UNREADABLE_SETTINGS` is a defect of the schema.
 */
export function loadFile<Config extends { readonly featureGates: Readonly<Record<string, boolean>> }>(
    spec: FileSpec<Config>,
    text: string,
): Loaded<Config> {
    const file = parseYaml(spec.name, text);
    const { config, wrong, unknown } = parseValues(spec, file);
    const { gates, problems, warnings } = readFeatureGates(spec.component, config.featureGates);
    const findings = [...wrong];
    for (const { name, rule } of problems) findings.push(finding(file, config, ["featureGates", name], rule));
    for (const rule of spec.rules) {
        if (rule.keys.some((key) => wrong.some((one) => isWithin(one.key, key)))) continue;
        const broken = rule.check(config, gates);
        if (broken !== undefined) findings.push(finding(file, config, broken.key.split("."), broken.rule));
    }
    if (findings.length > 0) throw wrongValues(spec.name, findings.sort(byLine));
    const given = (key: string): unknown => valueAt(file.root, key.split("."));
    const notices = spec.notices
        .map((notice) => notice.check(config, gates, given))
        .filter((line) => line !== undefined);
    return { config, warnings: [...unknown, ...warnings, ...notices], gates };
}

/** In file order; findings about absent values come last. */
function byLine(a: Finding, b: Finding): number {
    return (a.line ?? Infinity) - (b.line ?? Infinity) || 0;
}

interface Parsed<Config> {
    readonly config: Config;
    readonly wrong: readonly Finding[];
    readonly unknown: readonly string[];
}

/**
 * Collects invalid values and unknown keys, removes them and parses again, so that the rules over several values can
 * check the rest.
 */
function parseValues<Config>(spec: FileSpec<Config>, file: SettingsText): Parsed<Config> {
    const wrong: Finding[] = [];
    const unknown: string[] = [];
    const keys = knownKeys(spec.schema);
    let input: unknown = file.root;
    for (let pass = 0; pass < 8; pass += 1) {
        const result = spec.schema.safeParse(input);
        if (result.success) return { config: result.data, wrong, unknown };
        refuseTooMany(spec.name, result.error.issues);
        for (const issue of result.error.issues) {
            const path = issue.path as Path;
            if (issue.code !== "unrecognized_keys") {
                wrong.push(finding(file, undefined, path, issue.message));
                input = without(input, upToList(path));
                continue;
            }
            for (const key of issue.keys) {
                unknown.push(unknownKey(file, [...path, key], keys));
                input = without(input, [...path, key]);
            }
        }
    }
    throw new SettingsError(
        "UNREADABLE_SETTINGS",
        "internal",
        `${spec.name}: values remain wrong after they were removed`,
    );
}

/** Limit of unknown keys and invalid values, as each is searched in the file. */
const maxIssues = 200;

function refuseTooMany(name: string, issues: readonly z.core.$ZodIssue[]): void {
    const count = issues.reduce((sum, issue) => sum + (issue.code === "unrecognized_keys" ? issue.keys.length : 1), 0);
    if (count <= maxIssues) return;
    const rule = `${count} of its keys and values are unknown or wrong; is it the file of another program?`;
    throw new SettingsError("WRONG_VALUES", "caller", `${name} cannot be used: ${rule}`, { details: { findings: [] } });
}

function unknownKey(file: SettingsText, path: Path, keys: readonly string[]): string {
    const line = file.lineOf(path);
    const suggestion = suggest(path, keys);
    const where = line === undefined ? "" : ` (line ${line})`;
    const hint = suggestion === undefined ? "" : `; did you mean ${suggestion}?`;
    return `unknown key ${formatPath(path)}${where} is ignored${hint}`;
}

function finding(file: SettingsText, config: unknown, path: Path, rule: string): Finding {
    const given = valueAt(file.root, path);
    const value = given === undefined ? `${show(valueAt(config, path))} (default)` : show(given);
    return {
        key: formatPath(path),
        value: given === undefined && config === undefined ? "(missing)" : value,
        rule,
        line: file.lineOf(path),
    };
}

const maxShown = 80;

function show(value: unknown): string {
    const text = JSON.stringify(value) ?? "nothing";
    return text.length <= maxShown ? text : `${text.slice(0, maxShown)}...`;
}

function isWithin(key: string, group: string): boolean {
    return key === group || key.startsWith(`${group}.`) || key.startsWith(`${group}[`);
}

function wrongValues(name: string, findings: readonly Finding[]): SettingsError {
    const texts = findings.map(({ key, value, rule }) => `${key}: ${value}: ${rule}`);
    const message = `${name} cannot be used: ${texts.join("; ")}`;
    return new SettingsError("WRONG_VALUES", "caller", message, { details: { findings } });
}
