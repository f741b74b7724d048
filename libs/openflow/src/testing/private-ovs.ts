import { execFile, spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { AntreaError } from "@antrea/errors";

const run = promisify(execFile);
/**
 * How long `addBridge` waits until no other ovs-vswitchd runs in the network namespace: as long as the longest file of
 * tests of another project that runs beside this one.
 */
const namespaceWaitMs = 240_000;
const schemaPath = "/usr/share/openvswitch/vswitch.ovsschema";

/** A program of the private Open vSwitch could not be run, failed, or did not answer. */
export class PrivateOvsError extends AntreaError<"OVS_PROGRAM_FAILED"> {}

/** Options of `PrivateOvs.start`. */
export interface PrivateOvsOptions {
    /** `vswitchd: false` starts only the database. Default true. */
    readonly vswitchd?: boolean;
    /**
     * `host` (default): ovs-vswitchd runs in the caller's network namespace and can use its devices; only one
     * ovs-vswitchd with the userspace datapath can run in a namespace, a second one waits in `addBridge`. `own`: it
     * runs in a new namespace, at `netnsPath`.
     */
    readonly network?: "host" | "own";
    /** More command line options of ovs-vswitchd. Default none. */
    readonly vswitchdArgs?: readonly string[];
}

/** Options of `PrivateOvs.addBridge`: columns of the Bridge table. */
export interface BridgeOptions {
    /** Default `netdev`. */
    readonly datapathType?: string;
    /** Default `secure`: the bridge starts without flows. `standalone` makes it a learning switch. */
    readonly failMode?: "secure" | "standalone";
}

/** Options of `PrivateOvs.addPort`: columns of the Interface table. */
export interface PortOptions {
    /** Default `internal`: a tap device of the port's name. An empty string uses an existing device. */
    readonly type?: string;
    /** OpenFlow port number to request. Default: Open vSwitch chooses. */
    readonly ofport?: number;
}

/**
 * An ovsdb-server and an ovs-vswitchd for one test, in a new folder under the temporary folder, with the userspace
 * datapath. Bridges and internal ports are tap devices of the machine: use names that no other test uses (at most 15
 * characters), such as those of `deviceName()`. Disposal ends both programs by their pid and removes devices and
 * folder. Needs root and Debian's package openvswitch-switch (its service need not run). Methods that run a program
 * reject with `PrivateOvsError` `OVS_PROGRAM_FAILED`.
 */
export class PrivateOvs implements AsyncDisposable {
    /** Folder of the databases, sockets and logs. */
    readonly runDir: string;
    readonly #options: PrivateOvsOptions;
    readonly #devices = new Set<string>();
    #starts = 0;
    #database: ChildProcess | undefined;
    #vswitchd: ChildProcess | undefined;

    private constructor(runDir: string, options: PrivateOvsOptions) {
        this.runDir = runDir;
        this.#options = options;
    }

    /** Resolves when the programs run that the options select. When one fails, it rejects after disposal. */
    static async start(options: PrivateOvsOptions = {}): Promise<PrivateOvs> {
        // The path stays short: a unix socket's name has at most 107 bytes.
        const ovs = new PrivateOvs(await mkdtemp(join(tmpdir(), "ovs-")), options);
        try {
            await ovs.#tool("ovsdb-tool", ["create", ovs.#path("conf.db"), schemaPath]);
            await ovs.startDatabase();
            if (options.vswitchd !== false) await ovs.startVswitchd();
            return ovs;
        } catch (error) {
            await ovs[Symbol.asyncDispose]();
            throw error;
        }
    }

    /** Path of the database's unix socket. */
    get dbSocket(): string {
        return this.#path("db.sock");
    }

    /** Environment variables with which the OVS tools connect to this instance. */
    get env(): NodeJS.ProcessEnv {
        return { ...process.env, OVS_RUNDIR: this.runDir, OVS_DBDIR: this.runDir, OVS_LOGDIR: this.runDir };
    }

    /** Pid of ovs-vswitchd; undefined when it does not run. */
    get vswitchdPid(): number | undefined {
        return this.#vswitchd?.pid;
    }

    /** Pid of ovsdb-server; undefined when it does not run. */
    get databasePid(): number | undefined {
        return this.#database?.pid;
    }

    /** Path of the unix socket on which ovs-vswitchd serves OpenFlow for this bridge. */
    mgmtSocket(bridge: string): string {
        return this.#path(`${bridge}.mgmt`);
    }

    /** A random device name of at most 15 characters, unlikely to be in use: `prefix`, a hyphen, letters and digits. */
    static deviceName(prefix = "br"): string {
        return `${prefix}-${Math.random().toString(36).slice(2, 10)}`.slice(0, 15);
    }

    /** Path of the network namespace of ovs-vswitchd, or of this process when that does not run. */
    get netnsPath(): string {
        return `/proc/${this.vswitchdPid ?? "self"}/ns/net`;
    }

    /** Adds a bridge; resolves when it serves OpenFlow. */
    async addBridge(name: string, options: BridgeOptions = {}): Promise<void> {
        this.#devices.add(name);
        const row = [`datapath_type=${options.datapathType ?? "netdev"}`, `fail_mode=${options.failMode ?? "secure"}`];
        const deadline = Date.now() + namespaceWaitMs;
        for (;;) {
            await this.vsctl("add-br", name, "--", "set", "bridge", name, ...row, "protocols=OpenFlow15");
            if (this.#vswitchd === undefined || existsSync(this.mgmtSocket(name))) return;
            await this.vsctl("del-br", name);
            if (Date.now() > deadline) break;
            await sleep(500);
        }
        const log = await readFile(this.#path("ovs-vswitchd.log"), "utf8");
        const why = log.includes("tap device failed: Device or resource busy")
            ? "another ovs-vswitchd holds the userspace datapath of this network namespace; start with network: own"
            : log.slice(-1000);
        throw new PrivateOvsError("OVS_PROGRAM_FAILED", "environment", `bridge ${name} was not set up: ${why}`);
    }

    /** Adds a port with an interface of the same name to a bridge. */
    async addPort(bridge: string, name: string, options: PortOptions = {}): Promise<void> {
        const type = options.type ?? "internal";
        if (type === "internal") this.#devices.add(name);
        const row = [
            ...(type === "" ? [] : [`type=${type}`]),
            ...(options.ofport === undefined ? [] : [`ofport_request=${options.ofport}`]),
        ];
        const set = row.length === 0 ? [] : ["--", "set", "interface", name, ...row];
        await this.vsctl("add-port", bridge, name, ...set);
    }

    /** Runs ovs-vsctl on this database and returns its output. */
    async vsctl(...args: readonly string[]): Promise<string> {
        const wait = this.#vswitchd === undefined ? ["--no-wait"] : [];
        return this.#tool("ovs-vsctl", ["--timeout=60", `--db=unix:${this.dbSocket}`, ...wait, ...args]);
    }

    /** Runs `ovs-ofctl -O OpenFlow15` with these arguments and returns its output; bridges are given by name. */
    async ofctl(...args: readonly string[]): Promise<string> {
        return this.#tool("ovs-ofctl", ["-O", "OpenFlow15", ...args]);
    }

    /** Runs ovs-appctl on this ovs-vswitchd and returns its output. */
    async appctl(...args: readonly string[]): Promise<string> {
        return this.#tool("ovs-appctl", ["--timeout=60", "-t", "ovs-vswitchd", ...args]);
    }

    /** Returns what ovs-appctl would, without a process for each command: some suites have hundreds. */
    async ask(command: string, ...args: readonly string[]): Promise<string> {
        const pid = (await readFile(this.#path("ovs-vswitchd.pid"), "utf8")).trim();
        return askControlSocket(this.#path(`ovs-vswitchd.${pid}.ctl`), command, args);
    }

    /** Starts ovsdb-server if it does not run; resolves when it accepts connections. */
    async startDatabase(): Promise<void> {
        this.#database ??= this.#spawn([
            "ovsdb-server",
            this.#path("conf.db"),
            `--remote=punix:${this.dbSocket}`,
            `--unixctl=${this.#path("ovsdb.ctl")}`,
            `--log-file=${this.#path("ovsdb-server.log")}`,
        ]);
        await this.#tool("ovs-vsctl", ["--retry", "--timeout=60", `--db=unix:${this.dbSocket}`, "--no-wait", "init"]);
    }

    /** Starts ovs-vswitchd if it does not run; resolves when it has applied the configuration. */
    async startVswitchd(): Promise<void> {
        this.#vswitchd ??= this.#spawn([
            ...(this.#options.network === "own" ? ["unshare", "--net"] : []),
            "ovs-vswitchd",
            `unix:${this.dbSocket}`,
            // ovs-appctl and agents expect its control socket, ovs-vswitchd.PID.ctl, beside this file
            `--pidfile=${this.#path("ovs-vswitchd.pid")}`,
            `--log-file=${this.#path("ovs-vswitchd.log")}`,
            "--disable-system",
            ...(this.#options.vswitchdArgs ?? []),
        ]);
        // ovs-vsctl waits until ovs-vswitchd has applied the configuration only when something in it changes.
        this.#starts += 1;
        await this.vsctl("init", "--", "set", "Open_vSwitch", ".", `external_ids:private-start=${this.#starts}`);
    }

    /** Ends ovs-vswitchd with SIGKILL and waits for its end. */
    async killVswitchd(): Promise<void> {
        const child = this.#vswitchd;
        this.#vswitchd = undefined;
        await end(child);
    }

    /** Sends a signal to ovs-vswitchd: SIGSTOP suspends it, SIGCONT resumes it. */
    signalVswitchd(signal: "SIGSTOP" | "SIGCONT"): void {
        this.#vswitchd?.kill(signal);
    }

    /**
     * Ends ovs-vswitchd with SIGKILL and starts it; resolves when the bridges are configured again from the database.
     */
    async restartVswitchd(): Promise<void> {
        await this.killVswitchd();
        await this.startVswitchd();
    }

    /** Ends ovsdb-server with SIGKILL and waits for its end. */
    async killDatabase(): Promise<void> {
        const child = this.#database;
        this.#database = undefined;
        await end(child);
    }

    /** Ends ovsdb-server with SIGKILL and starts it; resolves when it accepts connections. */
    async restartDatabase(): Promise<void> {
        await this.killDatabase();
        await this.startDatabase();
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.killVswitchd();
        await this.killDatabase();
        // Tap devices of the userspace datapath outlive ovs-vswitchd.
        const left = this.#options.network === "own" ? [] : this.#devices;
        for (const device of left) await run("ip", ["link", "delete", device]).catch(() => undefined);
        await rm(this.runDir, { recursive: true, force: true });
    }

    #path(name: string): string {
        return join(this.runDir, name);
    }

    #spawn(command: readonly string[]): ChildProcess {
        // The kernel ends the program when the test runner exits, so that no run leaves one.
        return spawn("setpriv", ["--pdeathsig", "KILL", ...command], {
            cwd: this.runDir,
            env: this.env,
            stdio: "ignore",
        });
    }

    async #tool(program: string, args: readonly string[]): Promise<string> {
        try {
            const { stdout } = await run(program, args, { env: this.env, maxBuffer: 64 << 20 });
            return stdout;
        } catch (cause) {
            throw new PrivateOvsError("OVS_PROGRAM_FAILED", "environment", `${program} ${args.join(" ")} failed`, {
                cause,
            });
        }
    }
}

/** JSON-RPC 1.0: one request and its answer. */
async function askControlSocket(path: string, command: string, args: readonly string[]): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const failed = (cause?: unknown): void => {
        const message = `ovs-vswitchd at ${path} did not answer ${[command, ...args].join(" ")}`;
        reject(new PrivateOvsError("OVS_PROGRAM_FAILED", "environment", message, { cause }));
    };
    const socket = createConnection({ path });
    let text = "";
    socket.setEncoding("utf8");
    socket.setTimeout(60_000, failed);
    socket.on("error", failed);
    socket.on("close", () => failed());
    socket.on("connect", () => socket.write(JSON.stringify({ id: 0, method: command, params: args })));
    socket.on("data", (part: string) => {
        text += part;
        const answer = complete(text);
        if (answer === undefined) return;
        if (answer.error === null) resolve(answer.result);
        else failed(answer.error);
    });
    try {
        return await promise;
    } finally {
        socket.destroy();
    }
}

/** The answer, once all of it has come: one object, and nothing after it. */
function complete(text: string): { readonly result: string; readonly error: string | null } | undefined {
    try {
        return JSON.parse(text) as { readonly result: string; readonly error: string | null };
    } catch {
        return undefined;
    }
}

async function end(child: ChildProcess | undefined): Promise<void> {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
}
