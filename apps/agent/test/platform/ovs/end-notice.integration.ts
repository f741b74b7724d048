import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { eventually } from "../../support/eventually.ts";

const script = fileURLToPath(new URL("../../../image/start-ovs", import.meta.url));
const agentProgram = fileURLToPath(new URL("support/ending-agent.ts", import.meta.url));

/** A program, and what it has printed. */
class Program {
    readonly #child: ChildProcess;
    output = "";

    constructor(command: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env) {
        // none outlives the test
        const all = ["--pdeathsig", "KILL", command, ...args];
        this.#child = spawn("setpriv", all, { env, stdio: ["pipe", "pipe", "pipe"] });
        for (const stream of [this.#child.stdout, this.#child.stderr]) {
            stream?.setEncoding("utf8").on("data", (text: string) => (this.output += text));
        }
    }

    get hasEnded(): boolean {
        return this.#child.exitCode !== null || this.#child.signalCode !== null;
    }

    async prints(text: string): Promise<void> {
        const all = (): string => this.output;
        expect(await eventually(all, (output) => output.includes(text))).toContain(text);
    }

    async ended(limitMs = 60_000): Promise<void> {
        expect([await eventually(() => this.hasEnded, Boolean, limitMs), this.output]).toEqual([true, this.output]);
    }

    signal(name: "SIGTERM" | "SIGINT" | "SIGKILL"): void {
        this.#child.kill(name);
    }

    /** Lets an agent end. */
    release(): void {
        this.#child.stdin?.end();
    }
}

/** No test waits for this long. */
const longSeconds = 600;

let folder: string;
let ovs: Program;
let agent: Program;

function startOvs(limits: Readonly<Record<string, number>> = {}): Program {
    const all = { AGENT_SECONDS: longSeconds, NOTICE_SECONDS: longSeconds, ...limits };
    const settings = Object.fromEntries(Object.entries(all).map(([name, value]) => [name, String(value)]));
    const env = { ...process.env, OVS_RUNDIR: folder, OVS_DBDIR: folder, ANTREA_STATE_DIR: folder, ...settings };
    return new Program("unshare", ["--net", script], env);
}

async function startAgent(): Promise<Program> {
    const program = new Program(process.execPath, ["--no-warnings", agentProgram, folder]);
    await program.prints("connected");
    return program;
}

function answers(): boolean {
    try {
        execFileSync(script, ["check"], { env: { ...process.env, OVS_RUNDIR: folder }, stdio: "ignore" });
        return true;
    } catch {
        return false;
    }
}

async function start(limits: Readonly<Record<string, number>> = {}): Promise<void> {
    ovs = startOvs(limits);
    expect(await eventually(answers, Boolean)).toBe(true);
    agent = await startAgent();
}

const waiting = "waiting until the agent has ended";
const goesOn = "OVS ends before the agent";

beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "end-notice-"));
});

afterEach(async () => {
    agent.signal("SIGKILL");
    ovs.signal("SIGTERM");
    await ovs.ended();
    rmSync(folder, { recursive: true, force: true });
});

it.each(["before OVS", "after OVS"])("OVS answers until the agent has ended that is stopped %s", async (order) => {
    await start();
    const [first, second] = order === "before OVS" ? [agent, ovs] : [ovs, agent];
    first.signal("SIGTERM");
    await setTimeout(1_500);
    second.signal("SIGTERM");
    await agent.prints("ending");
    await ovs.prints(waiting);
    // whoever asks again does not end it earlier
    ovs.signal("SIGTERM");
    ovs.signal("SIGINT");
    await setTimeout(1_500);
    expect(answers()).toBe(true);
    agent.release();
    await ovs.ended();
    expect(answers()).toBe(false);
    expect(ovs.output).not.toContain(goesOn);
});

it("OVS ends when an agent is killed that it waits for", async () => {
    await start();
    for (const program of [agent, ovs]) program.signal("SIGTERM");
    await ovs.prints(waiting);
    agent.signal("SIGKILL");
    await ovs.ended();
    expect(ovs.output).not.toContain(goesOn);
});

it("OVS ends at once when the agent has been killed, or has ended", async () => {
    await start();
    agent.signal("SIGKILL");
    await agent.ended();
    ovs.signal("SIGTERM");
    await ovs.ended();
    expect(ovs.output).not.toContain(waiting);
    expect(ovs.output).not.toContain(goesOn);
});

it("OVS ends without an agent that goes on, and the next OVS waits for that agent when both are stopped", async () => {
    await start({ NOTICE_SECONDS: 1 });
    const { ino } = statSync(join(folder, "antrea-agent.pipe"));
    ovs.signal("SIGTERM");
    await ovs.ended();
    expect(ovs.output).toContain(goesOn);
    expect(ovs.output).not.toContain(waiting);
    expect(agent.hasEnded).toBe(false);
    ovs = startOvs();
    expect(await eventually(answers, Boolean)).toBe(true);
    expect(statSync(join(folder, "antrea-agent.pipe")).ino).toBe(ino);
    for (const program of [agent, ovs]) program.signal("SIGTERM");
    await ovs.prints(waiting);
    agent.release();
    await ovs.ended();
    expect(ovs.output).not.toContain(goesOn);
});

it("OVS ends when the agent does not within its time", async () => {
    await start({ AGENT_SECONDS: 2 });
    for (const program of [agent, ovs]) program.signal("SIGTERM");
    await ovs.ended();
    expect(ovs.output).toContain(waiting);
    expect(ovs.output).toContain(goesOn);
    expect(agent.hasEnded).toBe(false);
});
