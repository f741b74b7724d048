import { join } from "node:path";
import { BenchError } from "./error.ts";

export const repository: string = new URL("../..", import.meta.url).pathname;

/** What an app is run from, as in its image. */
export function bundlePath(app: "agent" | "controller"): string {
    return join(repository, "apps", app, "dist", `antrea-${app}.mjs`);
}

export const shimPath: string = join(repository, "apps/cni/dist/antrea-cni");

/** A path in the folder of this run, which run.sh makes and removes. */
export function workPath(name: string): string {
    return join(variable("BENCH_WORK"), name);
}

export function cniPluginsPath(): string {
    return variable("BENCH_CNI_PLUGINS");
}

function variable(name: string): string {
    const value = process.env[name];
    if (value !== undefined && value !== "") return value;
    throw new BenchError("BAD_ARGUMENT", "caller", `${name} is not set; start the benchmarks with tools/bench/run.sh`);
}
