import { execFile, spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { AntreaError } from "@antrea/errors";

const run = promisify(execFile);
/** How long `addBridge` waits for another ovs-vswitchd to leave the network namespace. */
const namespaceWaitMs = 30_000;
const schemaPath = "/usr/share/openvswitch/vswitch.ovsschema";

/** A program of the private Open vSwitch could not be run, or ended when it should not. */
export class PrivateOvsError extends AntreaError<"OVS_PROGRAM_FAILED" | "OVS_NOT_RUNNING"> {}

export interface PrivateOvsOptions {
    /** `vswitchd: false` starts only the database. Default true. */
    readonly vswitchd?: boolean;
    /**
     * `host` (default): ovs-vswitchd runs in the caller's network namespace and can take devices of it; only one
     * ovs-vswitchd with the userspace datapath fits into a namespace, a second one waits in `addBridge`. `own`: it runs
     * in a fresh namespace, which others do not disturb; `netnsPath` leads there.
     */
    readonly network?: "host" | "own";
    /** More command line options of ovs-vswitchd. Default none. */
    readonly vswitchdArgs?: readonly string[];
}

export interface BridgeOptions {
    /** Default `netdev`. */
    readonly datapathType?: string;
    /** Default `secure`: the bridge starts without flows. `standalone` makes it a learning switch. */
    readonly failMode?: "secure" | "standalone";
}

export interface PortOptions {
    /** Default `internal`: a tap device of the port's name. An empty string takes an existing device. */
    readonly type?: string;
    readonly ofport?: number;
}

/**
 * An ovsdb-server and an ovs-vswitchd of a test's own, in a new folder under the temporary folder, with the userspace
 * datapath. Bridges and internal ports are tap devices of the machine: give them names that no other test uses (at
 * most 15 characters); `deviceName()` makes one. Disposal ends both programs by their pid and removes devices and
 * folder. Needs root and Debian's package openvswitch-switch (its service need not run).
 */
export class PrivateOvs implements AsyncDisposable {
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

    /** Both programs are up when this resolves. */
    static async start(options: PrivateOvsOptions = {}): Promise<PrivateOvs> {
        // The path stays short: a unix socket's name has at most 107 bytes.
        const ovs = new PrivateOvs(await mkdtemp(join(tmpdir(), "ovs-")), options);
        try {
            await run("ovsdb-tool", ["create", ovs.#path("conf.db"), schemaPath]);
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

    /** The environment that makes the OVS tools talk to this instance. */
    get env(): NodeJS.ProcessEnv {
        return { ...process.env, OVS_RUNDIR: this.runDir, OVS_DBDIR: this.runDir, OVS_LOGDIR: this.runDir };
    }

    get vswitchdPid(): number | undefined {
        return this.#vswitchd?.pid;
    }

    get databasePid(): number | undefined {
        return this.#database?.pid;
    }

    /** Path of the unix socket on which ovs-vswitchd speaks OpenFlow for this bridge. */
    mgmtSocket(bridge: string): string {
        return this.#path(`${bridge}.mgmt`);
    }

    /** A device name of at most 15 characters that nothing on the machine has: `prefix`, then random letters. */
    static deviceName(prefix = "br"): string {
        return `${prefix}-${Math.random().toString(36).slice(2, 10)}`.slice(0, 15);
    }

    /** Path of the network namespace of ovs-vswitchd. */
    get netnsPath(): string {
        return `/proc/${this.vswitchdPid ?? "self"}/ns/net`;
    }

    /** The bridge is set up and serves OpenFlow when this resolves. */
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

    /** ovs-vsctl on this database; gives what it printed. */
    async vsctl(...args: readonly string[]): Promise<string> {
        const wait = this.#vswitchd === undefined ? ["--no-wait"] : [];
        return this.#tool("ovs-vsctl", ["--timeout=20", `--db=unix:${this.dbSocket}`, ...wait, ...args]);
    }

    /** `ovs-ofctl -O OpenFlow15` with these arguments; bridges go by their name. */
    async ofctl(...args: readonly string[]): Promise<string> {
        return this.#tool("ovs-ofctl", ["-O", "OpenFlow15", ...args]);
    }

    /** ovs-appctl to this ovs-vswitchd. */
    async appctl(...args: readonly string[]): Promise<string> {
        return this.#tool("ovs-appctl", ["--timeout=20", "-t", "ovs-vswitchd", ...args]);
    }

    async startDatabase(): Promise<void> {
        this.#database ??= this.#spawn([
            "ovsdb-server",
            this.#path("conf.db"),
            `--remote=punix:${this.dbSocket}`,
            `--unixctl=${this.#path("ovsdb.ctl")}`,
            `--log-file=${this.#path("ovsdb-server.log")}`,
        ]);
        await this.#tool("ovs-vsctl", ["--retry", "--timeout=20", `--db=unix:${this.dbSocket}`, "--no-wait", "init"]);
    }

    async startVswitchd(): Promise<void> {
        this.#vswitchd ??= this.#spawn([
            ...(this.#options.network === "own" ? ["unshare", "--net"] : []),
            "ovs-vswitchd",
            `unix:${this.dbSocket}`,
            // its control socket is where ovs-appctl and agents look for it: ovs-vswitchd.PID.ctl beside this file
            `--pidfile=${this.#path("ovs-vswitchd.pid")}`,
            `--log-file=${this.#path("ovs-vswitchd.log")}`,
            "--disable-system",
            ...(this.#options.vswitchdArgs ?? []),
        ]);
        // ovs-vsctl waits for ovs-vswitchd to take over the configuration only when something in it changes.
        this.#starts += 1;
        await this.vsctl("init", "--", "set", "Open_vSwitch", ".", `external_ids:private-start=${this.#starts}`);
    }

    /** kill -9 and wait for the end. */
    async killVswitchd(): Promise<void> {
        const child = this.#vswitchd;
        this.#vswitchd = undefined;
        await end(child);
    }

    /** SIGSTOP makes ovs-vswitchd slow, SIGCONT lets it go on. */
    signalVswitchd(signal: "SIGSTOP" | "SIGCONT"): void {
        this.#vswitchd?.kill(signal);
    }

    /** kill -9 and start again; bridges are configured anew from the database when this resolves. */
    async restartVswitchd(): Promise<void> {
        await this.killVswitchd();
        await this.startVswitchd();
    }

    /** kill -9 of the database server and wait for the end. */
    async killDatabase(): Promise<void> {
        const child = this.#database;
        this.#database = undefined;
        await end(child);
    }

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
        // The kernel ends the program when the test runner dies, so that no run leaves one behind.
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

async function end(child: ChildProcess | undefined): Promise<void> {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
}
