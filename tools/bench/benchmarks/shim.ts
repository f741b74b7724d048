import { readFileSync, statSync } from "node:fs";
import { podCall, antreaConfig } from "../cni-client.ts";
import { BenchError } from "../error.ts";
import { Helper } from "../helper.ts";
import { shimPath, workPath } from "../paths.ts";
import { pluginEnvironment, runPlugin } from "../plugin.ts";
import { comparison, figure, typical, type Result } from "../result.ts";
import { inTurn } from "../statistics.ts";

const counted = 200;
const warmUp = 10;
const memoryRuns = 10;

/**
 * Benchmark 3: the compiled shim through a full CmdAdd, answered immediately, against a compiled program that only
 * prints.
 */
export async function shim(): Promise<readonly Result[]> {
    await using server = new Helper("answer-server.ts");
    const socketPath = workPath("answer.sock");
    const expected = await server.ask<string>("open", { socketPath });
    const environment = {
        ...pluginEnvironment("ADD", podCall(1, "/var/run/netns/bench")),
        ANTREA_CNI_SOCKET: socketPath,
    };
    const add = (): number => {
        const { ms, output } = runPlugin(shimPath, environment, antreaConfig);
        if (output === expected) return ms;
        throw new BenchError("WRONG_RESULT", "internal", `the shim printed ${output} instead of ${expected}`);
    };
    const print = (): number => runPlugin(workPath("printer"), environment, antreaConfig).ms;

    const pairs = { ours: [] as number[], peer: [] as number[] };
    for (let index = -warmUp; index < counted; index++) {
        const times = { ours: 0, peer: 0 };
        await inTurn(
            index + warmUp,
            async () => void (times.ours = add()),
            async () => void (times.peer = print()),
        );
        if (index < 0) continue;
        pairs.ours.push(times.ours);
        pairs.peer.push(times.peer);
    }
    const peaks = Array.from({ length: memoryRuns }, () => peakMemory(shimPath, environment));
    const printerPeaks = Array.from({ length: memoryRuns }, () => peakMemory(workPath("printer"), environment));
    const size = (path: string): number => statSync(path).size / 2 ** 20;
    const peer = "a compiled program that only prints";
    return [
        comparison({ id: "shim-add", what: "shim, whole process of CmdAdd, p50", peer, pairs, maxRatio: 1.7 }),
        comparison({ id: "shim-add-p99", what: "shim, whole process of CmdAdd, p99", peer, pairs, share: 0.99 }),
        figure({ id: "shim-size", what: "shim, size of the binary", value: size(shimPath), unit: "MiB" }),
        figure({ id: "printer-size", what: `size of ${peer}`, value: size(workPath("printer")), unit: "MiB" }),
        typical({ id: "shim-memory", what: "shim, peak memory", samples: peaks, unit: "MiB" }),
        typical({ id: "printer-memory", what: `peak memory of ${peer}`, samples: printerPeaks, unit: "MiB" }),
    ];
}

/** Peak resident memory in MiB from time(1): a measurement by Node.js would include itself. */
function peakMemory(path: string, environment: NodeJS.ProcessEnv): number {
    const report = workPath("time");
    runPlugin("/usr/bin/time", environment, antreaConfig, ["--format=%M", `--output=${report}`, path]);
    return Number(readFileSync(report, "utf8")) / 1024;
}
