import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const startTimeoutMs = 10_000;

/** A temporary ovsdb-server(1) on a private socket, made with `start`. Disposal ends it and removes the socket. */
export class OwnServer implements AsyncDisposable {
    /** The path of its socket. */
    readonly socket: string;
    readonly #folder: string;
    readonly #child: ChildProcess;
    /** What it has printed to its standard error so far. */
    errors = "";

    private constructor(folder: string, file: string) {
        this.#folder = folder;
        this.socket = join(folder, "db.sock");
        const args = [file, `--remote=punix:${this.socket}`, `--unixctl=${join(folder, "ctl")}`, "-vconsole:warn"];
        this.#child = spawn("ovsdb-server", [...args, "-vsyslog:off", "-vfile:off"], {
            stdio: ["ignore", "ignore", "pipe"],
        });
        this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.errors += text));
        this.#child.on("error", (error) => (this.errors += error.message));
    }

    /**
     * Starts one for the database file. Resolves when it listens, has ended, or does not listen after ten seconds: whoever
     * connects notices.
     */
    static async start(file: string): Promise<OwnServer> {
        const server = new OwnServer(await mkdtemp(join(tmpdir(), "clean-up-")), file);
        const end = performance.now() + startTimeoutMs;
        while (!existsSync(server.socket) && server.#child.exitCode === null && performance.now() < end) {
            await new Promise((resolve) => setTimeout(resolve, 20));
        }
        return server;
    }

    async [Symbol.asyncDispose](): Promise<void> {
        if (this.#child.exitCode === null && this.#child.signalCode === null && this.#child.pid !== undefined) {
            const ended = new Promise((resolve) => this.#child.once("exit", resolve));
            this.#child.kill("SIGTERM");
            await ended;
        }
        await rm(this.#folder, { recursive: true, force: true });
    }
}
