import { existsSync } from "node:fs";
import { join } from "node:path";
import { InvalidArgumentError } from "commander";
import { type Format } from "../output/index.ts";

/**
 * The options of every command. Of those that were not given, `kubeconfig`, `context` and `namespace` are absent and
 * have kubectl's defaults; the others have those of `createProgram`.
 */
export interface GlobalOptions {
    readonly kubeconfig?: string;
    readonly context?: string;
    readonly namespace?: string;
    /** Limit of each request, in milliseconds. */
    readonly requestTimeout: number;
    readonly output: Format;
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const longestMs = 24 * 3_600_000;

/**
 * Parses a time limit like `readDuration`, with 0 for "no limit", as kubectl's --request-timeout: the result is that of
 * 24 hours. Throws InvalidArgumentError of commander.
 */
export function readTimeout(text: string): number {
    const ms = readDuration(text);
    return ms === 0 ? longestMs : ms;
}

/**
 * Parses `30s`, `1m30s`, `500ms`, or whole seconds. Returns milliseconds, at most those of 24 hours. Throws
 * InvalidArgumentError of commander.
 */
export function readDuration(text: string): number {
    const parts = /^\d+$/.test(text) ? [[text, text, "s"]] : [...text.matchAll(/(\d+)(ms|s|m|h)/g)];
    if (parts.length === 0 || parts.map(([all]) => all).join("") !== text) {
        throw new InvalidArgumentError("It must be a duration such as 30s or 1m, or 0 for none.");
    }
    const ms = parts.reduce((sum, [, number, unit]) => sum + Number(number) * (unitMs[unit ?? ""] ?? 0), 0);
    return Math.min(ms, longestMs);
}

/**
 * Finds the kubeconfig as kubectl does: the option, KUBECONFIG (several files separated by ":"), then
 * $HOME/.kube/config if it exists. Undefined: use the service account of the Pod. Reads no file.
 */
export function findKubeconfig(
    option: string | undefined,
    environment: Readonly<Record<string, string | undefined>>,
    exists: (path: string) => boolean = existsSync,
): string | readonly string[] | undefined {
    if (option !== undefined && option !== "") return option;
    const listed = (environment.KUBECONFIG ?? "").split(":").filter((path) => path !== "");
    if (listed.length > 0) return listed;
    const usual = join(environment.HOME ?? "/root", ".kube", "config");
    return exists(usual) ? usual : undefined;
}
