import { execFile, type ExecFileOptions } from "node:child_process";
import { promisify } from "node:util";
import { type KubeObject } from "@antrea/kube";
import { parseAllDocuments } from "yaml";

const execute = promisify(execFile);

/** Runs a program to its end; rejects with its error output, and after two minutes, with its command line. */
export const run = (
    program: string,
    args: readonly string[],
    options: ExecFileOptions = {},
): Promise<{ readonly stdout: string; readonly stderr: string }> =>
    execute(program, args, { timeout: 120_000, ...options, encoding: "utf8" });

export const chart = new URL("../../../charts/antrea/", import.meta.url);
/** What the chart cannot be rendered without. */
export const required = ["--set", "trafficEncapMode=noEncap"];

export interface Manifest extends KubeObject {
    readonly kind: string;
    readonly metadata: {
        readonly name: string;
        readonly namespace?: string;
        readonly annotations?: Record<string, string>;
        readonly labels?: Record<string, string>;
    };
    readonly data?: Record<string, string>;
    readonly spec?: Readonly<Record<string, unknown>>;
    readonly webhooks?: readonly Readonly<Record<string, unknown>>[];
    readonly rules?: readonly {
        readonly apiGroups: string[];
        readonly resources: string[];
        readonly resourceNames?: string[];
        readonly verbs: string[];
    }[];
}

/** The objects of the chart with these options of Helm, in the order in which Helm would make them. */
export async function render(...options: readonly string[]): Promise<Manifest[]> {
    const args = ["template", "antrea", chart.pathname, "--kube-version", "1.33.0", "--namespace", "kube-system"];
    const { stdout } = await run("helm", [...args, ...required, ...options], { maxBuffer: 16 << 20 });
    return parseAllDocuments(stdout).map((document) => document.toJSON() as Manifest);
}

/** Throws if there is no such object. */
export function named(manifests: readonly Manifest[], kind: string, name: string): Manifest {
    const found = manifests.find((one) => one.kind === kind && one.metadata.name === name);
    if (found === undefined) throw new Error(`no ${kind} ${name}`);
    return found;
}
