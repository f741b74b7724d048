import { randomInt } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { AntreaError } from "@antrea/errors";

/**
 * The error class of the test API server: `PROGRAM_MISSING` in the cache, `PROGRAM_ENDED` unexpectedly, `NOT_READY`
 * within two minutes, `UNKNOWN_KIND`: an object of a kind that is not served. The fault is `environment`, of
 * UNKNOWN_KIND `caller`.
 */
export class TestApiServerError extends AntreaError<
    "PROGRAM_MISSING" | "PROGRAM_ENDED" | "NOT_READY" | "UNKNOWN_KIND"
> {}

const defaultCache = process.env.ANTREA_CACHE ?? join(process.env.HOME ?? "/root", ".cache/antrea");
const versions = new URL("../../../../tools/versions.env", import.meta.url);

/**
 * Returns the path of the pinned version of one of these programs in the cache (default: ANTREA_CACHE, else
 * `$HOME/.cache/antrea`). Throws TestApiServerError PROGRAM_MISSING.
 */
export function programPath(name: "etcd" | "kube-apiserver" | "kube-proxy", cache: string = defaultCache): string {
    const pinned = new Map(
        readFileSync(versions, "utf8")
            .split("\n")
            .filter((line) => /^[A-Z_]+=/.test(line))
            .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)] as const),
    );
    const folder =
        name === "etcd" ? `etcd-${pinned.get("ETCD_VERSION")}` : `kubernetes-${pinned.get("KUBERNETES_VERSION")}`;
    const path = join(cache, "programs", folder, name);
    if (existsSync(path)) return path;
    throw new TestApiServerError(
        "PROGRAM_MISSING",
        "environment",
        `${path} is missing; run tools/cluster/build-programs.sh`,
    );
}

/** Below the kernel's ephemeral ports, so that no connection takes a port before the program binds it. */
const firstPort = 20_000;
const lastPort = 31_999;

/**
 * Returns this many distinct TCP ports of 127.0.0.1 from 20,000 to 31,998 on which nothing listens now, not reserved
 * for the caller; chosen at random because parallel tests search too.
 */
export async function freePorts(count: number): Promise<readonly number[]> {
    const ports = new Set<number>();
    while (ports.size < count) {
        const port = randomInt(firstPort, lastPort);
        if (await isFree(port)) ports.add(port);
    }
    return [...ports];
}

/** Returns one port as `freePorts` does. No test may have a fixed port of its own: another could be given it. */
export async function freePort(): Promise<number> {
    const [port = 0] = await freePorts(1);
    return port;
}

async function isFree(port: number): Promise<boolean> {
    const server = createServer();
    const { promise, resolve } = Promise.withResolvers<boolean>();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
    return promise;
}

/**
 * A child process without standard input, started by the constructor; the last 8000 characters of its output are kept.
 * It ends by `kill`, and with the test runner (SIGKILL).
 */
export class Program {
    readonly #child: ChildProcess;
    readonly #name: string;
    readonly #ended: Promise<void>;
    #output = "";

    constructor(name: string, path: string, args: readonly string[]) {
        this.#name = name;
        this.#child = spawn("setpriv", ["--pdeathsig", "KILL", path, ...args], { stdio: ["ignore", "pipe", "pipe"] });
        const keep = (chunk: Buffer): void => {
            this.#output = (this.#output + chunk.toString()).slice(-8_000);
        };
        this.#child.stdout?.on("data", keep);
        this.#child.stderr?.on("data", keep);
        this.#ended = new Promise((resolve) => {
            this.#child.once("exit", () => resolve());
            this.#child.once("error", () => resolve());
        });
    }

    get pid(): number | undefined {
        return this.#child.pid;
    }

    get running(): boolean {
        return this.#child.exitCode === null && this.#child.signalCode === null;
    }

    /** Throws TestApiServerError PROGRAM_ENDED, with the end of the output, if the program is not running. */
    check(): void {
        if (this.running) return;
        throw new TestApiServerError("PROGRAM_ENDED", "environment", `${this.#name} ended:\n${this.#output}`);
    }

    /** Sends a signal to the program. */
    signal(signal: NodeJS.Signals): void {
        this.#child.kill(signal);
    }

    /** Kills the program (SIGKILL) and waits for its end. */
    async kill(): Promise<void> {
        if (this.running) this.#child.kill("SIGKILL");
        await this.#ended;
    }
}
