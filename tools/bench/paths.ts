import { readFileSync } from "node:fs";
import { join } from "node:path";
import { BenchError } from "./error.ts";

/** Root of the repository, with a trailing slash. */
export const repository: string = new URL("../..", import.meta.url).pathname;

/** The apps that are bundled for Node.js. */
export type Bundled = "agent" | "controller" | "webhook";

/** The bundle of an app, as in its image. */
function bundlePath(app: Bundled): string {
    return join(repository, "apps", app, "dist", `antrea-${app}.mjs`);
}

/** The Node.js options with which its image starts the app. */
export function nodeOptionsOf(app: Bundled): readonly string[] {
    const script = readFileSync(join(repository, "apps", app, "image", `antrea-${app}`), "utf8");
    const options = /^exec node (.*?)\S+\.mjs /m.exec(script)?.[1];
    if (options !== undefined) return words(options);
    throw new BenchError("BAD_ARGUMENT", "internal", `no line "exec node … .mjs" in the start script of ${app}`);
}

/** The command that starts an app with these arguments, as its image does. */
export function commandOf(app: Bundled, args: readonly string[]): readonly string[] {
    return [process.execPath, ...nodeOptionsOf(app), ...extraNodeOptions(), bundlePath(app), ...args];
}

/** Additional Node.js options of this run. */
function extraNodeOptions(): readonly string[] {
    return words(process.env.BENCH_NODE_OPTIONS ?? "");
}

function words(text: string): readonly string[] {
    return text.split(" ").filter((word) => word !== "");
}

/** The compiled CNI plugin. */
export const shimPath: string = join(repository, "apps/cni/dist/antrea-cni");

/** A path in the work folder of this run, which run.sh creates and removes. */
export function workPath(name: string): string {
    return join(variable("BENCH_WORK"), name);
}

/** The program kube-proxy, which run.sh sets. */
export function kubeProxyPath(): string {
    return join(variable("BENCH_KUBERNETES"), "kube-proxy");
}

/** The folder of the reference CNI plugins, which run.sh sets. */
export function cniPluginsPath(): string {
    return variable("BENCH_CNI_PLUGINS");
}

function variable(name: string): string {
    const value = process.env[name];
    if (value !== undefined && value !== "") return value;
    throw new BenchError("BAD_ARGUMENT", "caller", `${name} is not set; start the benchmarks with tools/bench/run.sh`);
}
