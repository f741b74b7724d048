import { execFile, spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { AntreaError } from "@antrea/errors";

const run = promisify(execFile);

/** The schema of Open vSwitch as Debian's package installs it. */
export const vswitchSchema = "/usr/share/openvswitch/vswitch.ovsschema";

/** The ovsdb-server of a test did not start. */
export class OvsdbServerError extends AntreaError<"SERVER_NOT_STARTED"> {}

/** Options of `OvsdbServer.start`. */
export interface OvsdbServerOptions {
    /** Path of the schema. Default: that of Open vSwitch. */
    readonly schemaPath?: string;
    /** A cluster of one server, which keeps its last transactions so that monitors can resume. Default false. */
    readonly clustered?: boolean;
}

/**
 * An ovsdb-server for one test, with an empty database in a new folder under the temporary folder. Disposal ends it by
 * its pid and removes the folder. Needs Debian's package openvswitch-switch (its service need not run). Methods that
 * run a program reject with the error of `execFile` (node:child_process).
 */
export class OvsdbServer implements AsyncDisposable {
    /** Folder of the database and the sockets. */
    readonly folder: string;
    readonly #options: OvsdbServerOptions;
    #process: ChildProcess | undefined;

    private constructor(folder: string, options: OvsdbServerOptions) {
        this.folder = folder;
        this.#options = options;
    }

    /**
     * Resolves when the server accepts connections; rejects with `OvsdbServerError` `SERVER_NOT_STARTED` after 60 s.
     */
    static async start(options: OvsdbServerOptions = {}): Promise<OvsdbServer> {
        // The path stays short: a unix socket's name has at most 107 bytes.
        const server = new OvsdbServer(await mkdtemp(join(tmpdir(), "ovsdb-")), options);
        try {
            await server.createDatabase();
            await server.restart();
            return server;
        } catch (error) {
            await server[Symbol.asyncDispose]();
            throw error;
        }
    }

    /** Path of the database's unix socket. */
    get socketPath(): string {
        return join(this.folder, "db.sock");
    }

    /** Pid of ovsdb-server; undefined when it does not run. */
    get pid(): number | undefined {
        return this.#process?.pid;
    }

    /** Replaces the database with an empty one; the server must not run. */
    async createDatabase(): Promise<void> {
        const { schemaPath = vswitchSchema, clustered = false } = this.#options;
        await rm(this.#databasePath, { force: true });
        const [command, address] = clustered
            ? ["create-cluster", [`unix:${join(this.folder, "raft.sock")}`]]
            : ["create", []];
        await run("ovsdb-tool", [command, this.#databasePath, schemaPath, ...address]);
    }

    /** Makes the server close all its connections. */
    async dropConnections(): Promise<void> {
        await run("ovs-appctl", ["-t", join(this.folder, "ctl"), "ovsdb-server/reconnect"]);
    }

    /** Runs `ovsdb-client transact`, a client that shares no code with this library. */
    async transact(...operations: readonly unknown[]): Promise<void> {
        await run("ovsdb-client", ["transact", `unix:${this.socketPath}`, JSON.stringify(operations)]);
    }

    /** Sends a signal to the running server: SIGSTOP suspends it, SIGCONT resumes it. */
    signal(name: NodeJS.Signals): void {
        this.#process?.kill(name);
    }

    /** Ends the server with SIGKILL and waits for its end. */
    async kill(): Promise<void> {
        const child = this.#process;
        this.#process = undefined;
        if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
        const ended = new Promise((resolve) => child.once("exit", resolve));
        child.kill("SIGKILL");
        await ended;
    }

    /**
     * Starts the server, after a SIGKILL if it runs; resolves when it accepts connections, rejects with
     * `OvsdbServerError` after 60 s.
     */
    async restart(): Promise<void> {
        await this.kill();
        await rm(this.socketPath, { force: true });
        const unixctl = join(this.folder, "ctl");
        const args = [this.#databasePath, `--remote=punix:${this.socketPath}`, `--unixctl=${unixctl}`, "--no-chdir"];
        // The kernel ends the program when the test runner exits, so that no run leaves one.
        this.#process = spawn("setpriv", ["--pdeathsig", "KILL", "ovsdb-server", ...args, "-vconsole:off"], {
            cwd: this.folder,
            env: { ...process.env, OVS_RUNDIR: this.folder, OVS_DBDIR: this.folder, OVS_LOGDIR: this.folder },
            stdio: "ignore",
        });
        const until = performance.now() + 60_000;
        while (!(await accepts(this.socketPath))) {
            if (performance.now() > until) {
                const message = `ovsdb-server in ${this.folder} accepts no connection`;
                throw new OvsdbServerError("SERVER_NOT_STARTED", "environment", message);
            }
            await sleep(10);
        }
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.kill();
        await rm(this.folder, { recursive: true, force: true });
    }

    get #databasePath(): string {
        return join(this.folder, "conf.db");
    }
}

function accepts(path: string): Promise<boolean> {
    return new Promise((resolve) => {
        const socket = createConnection({ path });
        socket.once("connect", () => {
            socket.destroy();
            resolve(true);
        });
        socket.once("error", () => resolve(false));
    });
}
