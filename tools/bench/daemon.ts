import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { BenchError } from "./error.ts";
import { cpuTicks, cpuTicksWithChildren, tickMs } from "./meter.ts";
import { within } from "./netns.ts";

const stopLimitMs = 15_000;

/** Resident memory of a process in MiB: current, and peak. */
export interface Memory {
    readonly now: number;
    readonly peak: number;
}

/** Resident memory of the process with this ID. */
export function memoryOf(pid: number | undefined): Memory {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const of = (key: string): number => Number(new RegExp(`^${key}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) / 1024;
    return { now: of("VmRSS"), peak: of("VmHWM") };
}

/** Processor time of the process with this ID since its start, all threads, in milliseconds. */
export function cpuMsOf(pid: number | undefined): number {
    return cpuTicks(readFileSync(`/proc/${pid}/stat`, "utf8")) * tickMs;
}

/** A program under measurement, with its output in a file. */
export class Daemon implements AsyncDisposable {
    readonly #name: string;
    readonly #logPath: string;
    readonly #child: ChildProcess;
    readonly #ended: Promise<void>;

    constructor(options: {
        readonly name: string;
        readonly command: readonly string[];
        readonly env: NodeJS.ProcessEnv;
        readonly logPath: string;
        /** The network namespace of the process. Default: the current one. */
        readonly netnsPath?: string;
    }) {
        this.#name = options.name;
        this.#logPath = options.logPath;
        const log = openSync(options.logPath, "a");
        const [program, args] = within(options.netnsPath, options.command);
        this.#child = spawn(program, args, { env: options.env, stdio: ["ignore", log, log] });
        closeSync(log);
        this.#ended = new Promise((resolve) => this.#child.once("exit", () => resolve()));
    }

    /**
     * Waits until the probe is true; rejects with the end of the log when the program ends or the time limit is
     * reached.
     */
    async ready(probe: () => Promise<boolean>, limitMs: number): Promise<void> {
        const end = performance.now() + limitMs;
        while (!(await probe())) {
            if (!this.#running) throw this.#failure("ENDED", "ended before it was ready");
            if (performance.now() > end) throw this.#failure("NOT_READY", `was not ready after ${limitMs / 1000} s`);
            await sleep(20);
        }
    }

    memory(): Memory {
        return memoryOf(this.#child.pid);
    }

    /** Processor time since its start, all threads, in milliseconds. */
    cpuMs(): number {
        return cpuMsOf(this.#child.pid);
    }

    /** That of the programs too that it has run. */
    cpuMsWithChildren(): number {
        return cpuTicksWithChildren(readFileSync(`/proc/${this.#child.pid}/stat`, "utf8")) * tickMs;
    }

    /** SIGKILL; resolves when the process has ended. */
    async kill(): Promise<void> {
        this.#child.kill("SIGKILL");
        await this.#ended;
    }

    /** Stops the program by SIGTERM, and kills it if it does not stop. */
    async [Symbol.asyncDispose](): Promise<void> {
        if (!this.#running) return;
        this.#child.kill("SIGTERM");
        const limit = setTimeout(() => this.#child.kill("SIGKILL"), stopLimitMs);
        await this.#ended;
        clearTimeout(limit);
    }

    get #running(): boolean {
        return this.#child.exitCode === null && this.#child.signalCode === null;
    }

    #failure(code: "ENDED" | "NOT_READY", what: string): BenchError {
        const log = readFileSync(this.#logPath, "utf8").slice(-3000);
        return new BenchError(code, "environment", `${this.#name} ${what}; the end of its log:\n${log}`);
    }
}
