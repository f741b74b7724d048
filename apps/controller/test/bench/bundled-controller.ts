import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { eventually } from "@antrea/kube/testing";

const bundle = new URL("../../dist/antrea-controller.mjs", import.meta.url).pathname;

/** The bundled controller (build it first), in a process of its own. */
export interface BundledController {
    /** What it has logged so far. */
    readonly output: () => string;
    /** A line of its `/proc/PID/status`, such as `VmRSS`, in MiB. */
    readonly memory: (key: string) => number;
}

/** How the controller runs: the path of its configuration, and options of Node.js (default: none). */
export interface ControllerOptions {
    readonly path: string;
    readonly nodeOptions?: readonly string[];
    /** Whether it is ready, which is asked again and again for `timeoutMs`. */
    readonly isReady: (controller: BundledController) => boolean | Promise<boolean>;
    readonly timeoutMs: number;
}

/** Starts the controller, does the work once it is ready, and ends it by SIGTERM. Resolves with the result of the work. */
export async function withController<T>(
    { path, nodeOptions = [], isReady, timeoutMs }: ControllerOptions,
    work: (controller: BundledController) => Promise<T>,
): Promise<T> {
    const env = { PATH: process.env.PATH, POD_NAMESPACE: "default", POD_NAME: "bench", POD_UID: "1" };
    const child = spawn(process.execPath, [...nodeOptions, bundle, "--config", path], {
        env,
        stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const memory = (key: string): number => {
        const line = new RegExp(`${key}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${child.pid}/status`, "utf8"));
        return Math.round(Number(line?.[1]) / 102.4) / 10;
    };
    const controller: BundledController = { output: () => output, memory };
    try {
        await eventually(() => isReady(controller), { timeoutMs });
        return await work(controller);
    } finally {
        child.kill("SIGTERM");
        await ended;
    }
}
