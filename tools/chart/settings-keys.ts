import { readFileSync } from "node:fs";
import { type Component } from "@antrea/settings";
import { ChartError } from "./error.ts";

/** A chart value that is copied into a settings file. */
export interface MappedValue {
    readonly component: Component;
    /** The dotted key in the file. */
    readonly key: string;
    /** The dotted path in values.yaml. */
    readonly path: string;
}

const direct = /^( *)(\w+): \{\{ \.Values\.([\w.]+)( \| (quote|int))? \}\}$/;
const group = /^( *)(\w+):$/;
const whole = /^\{\{- toYaml \.Values\.([\w.]+) \| nindent \d+ \}\}$/;
const opened = /^\{\{- with \.Values\.([\w.]+) \}\}$/;
const inner = /^( *)(\w+): \{\{ \. \| quote \}\}$/;

/**
 * Reads from the templates of the settings files which value is written to which key. Throws TypeError for an
 * unrecognized line, so that no key is left without its rule.
 */
export function mappedValues(): readonly MappedValue[] {
    return (["agent", "controller"] as const).flatMap((component) => {
        const file = new URL(`../../charts/antrea/conf/antrea-${component}.conf`, import.meta.url);
        return readFileSync(file, "utf8")
            .split("\n")
            .filter((line) => line !== "" && line !== "{{- end }}")
            .reduce<Reading>(readLine, { component, groups: [], scope: undefined, found: [] }).found;
    });
}

interface Reading {
    readonly component: Component;
    readonly groups: readonly string[];
    /** The value of "." in the template. */
    readonly scope: string | undefined;
    readonly found: readonly MappedValue[];
}

function readLine(reading: Reading, line: string): Reading {
    const { component, groups, scope, found } = reading;
    const at = (indent = "", name = ""): string => [...groups.slice(0, indent.length / 2), name].join(".");
    const add = (key: string, path: string): Reading => ({ ...reading, found: [...found, { component, key, path }] });
    const [, indent, name, path = ""] = direct.exec(line) ?? [];
    if (name !== undefined) return add(at(indent, name), path);
    const [, list] = whole.exec(line) ?? [];
    if (list !== undefined) return add(groups.join("."), list);
    const [, groupIndent = "", groupName] = group.exec(line) ?? [];
    if (groupName !== undefined) return { ...reading, groups: [...groups.slice(0, groupIndent.length / 2), groupName] };
    const [, begun] = opened.exec(line) ?? [];
    if (begun !== undefined) return { ...reading, scope: begun };
    const [, innerIndent, innerName] = inner.exec(line) ?? [];
    if (innerName !== undefined && scope !== undefined) return add(at(innerIndent, innerName), scope);
    throw new ChartError(
        "UNREADABLE",
        "caller",
        `conf/antrea-${component}.conf: cannot determine which value goes to which key: ${line}`,
    );
}
