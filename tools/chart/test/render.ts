import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { type KubeObject } from "@antrea/kube";
import { parseAllDocuments } from "yaml";

export const run = promisify(execFile);
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
