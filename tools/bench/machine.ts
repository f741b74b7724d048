import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg, release, totalmem } from "node:os";
import { join } from "node:path";
import { repository } from "./paths.ts";

/** The hardware and software of the measurement, name and value. */
export function describeMachine(): ReadonlyMap<string, string> {
    const bun = join(repository, "node_modules/@oven/bun-linux-x64-baseline/bin/bun");
    const system = /^PRETTY_NAME="?([^"\n]*)/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? "unknown";
    return new Map([
        ["Date", new Date().toISOString().slice(0, 10)],
        ["CPU", `${cpus()[0]?.model.trim() ?? "unknown"}, ${availableParallelism()} cores`],
        ["Memory", `${Math.round(totalmem() / 2 ** 30)} GiB`],
        ["Kernel", `Linux ${release()}`],
        ["System", system],
        ["Open vSwitch", firstLine("ovs-vswitchd", "--version").replace(/^.* /, "") + ", userspace datapath (netdev)"],
        ["Node.js", process.version],
        ["Bun", firstLine(bun, "--version")],
        ["Scheduling", firstLine("chrt", "--pid", String(process.pid)).replace(/^.*: /, "")],
    ]);
}

/** The one-minute load average: above 0.5 before the start, another program was running. */
export function loadNow(): number {
    return loadavg()[0] ?? 0;
}

function firstLine(program: string, ...args: readonly string[]): string {
    return execFileSync(program, args, { encoding: "utf8" }).split("\n")[0] ?? "";
}
