import { execFile, spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const schema = "/usr/share/openvswitch/vswitch.ovsschema";

/** The database of one Node's OVS: a real ovsdb-server in a folder of its own, without a switch. */
export class NodeOvs implements AsyncDisposable {
    readonly #folder: string;
    readonly #server: ChildProcess;

    private constructor(folder: string, server: ChildProcess) {
        this.#folder = folder;
        this.#server = server;
    }

    static async start(): Promise<NodeOvs> {
        const folder = await mkdtemp(join(tmpdir(), "ovs-"));
        await run("ovsdb-tool", ["create", join(folder, "conf.db"), schema]);
        const socket = join(folder, "db.sock");
        const server = spawn(
            "setpriv",
            [
                "--pdeathsig",
                "KILL",
                "ovsdb-server",
                join(folder, "conf.db"),
                `--remote=punix:${socket}`,
                "--log-file=/dev/null",
            ],
            { stdio: "ignore", env: { ...process.env, OVS_RUNDIR: folder } },
        );
        const end = Date.now() + 60_000;
        while (!existsSync(socket)) {
            if (Date.now() > end) throw new Error("ovsdb-server is not ready");
            await new Promise((resolve) => setTimeout(resolve, 10));
        }
        const ovs = new NodeOvs(folder, server);
        await ovs.vsctl("init");
        await ovs.vsctl("add-br", "br-int");
        return ovs;
    }

    /** What a container beside this database has in its environment. */
    get env(): NodeJS.ProcessEnv {
        return { ...process.env, OVS_RUNDIR: this.#folder };
    }

    async vsctl(...words: readonly string[]): Promise<void> {
        await run("ovs-vsctl", ["--no-wait", ...words], { env: this.env });
    }

    /** Adds a port with these external_ids. */
    async addPort(name: string, ids: Readonly<Record<string, string>>): Promise<void> {
        const settings = Object.entries(ids).map(([key, value]) => `external_ids:${key}=${JSON.stringify(value)}`);
        await this.vsctl("add-port", "br-int", name, "--", "set", "Port", name, ...settings);
    }

    async [Symbol.asyncDispose](): Promise<void> {
        if (this.#server.exitCode === null) {
            const ended = new Promise((resolve) => this.#server.once("exit", resolve));
            this.#server.kill("SIGKILL");
            await ended;
        }
        await rm(this.#folder, { recursive: true, force: true });
    }
}
