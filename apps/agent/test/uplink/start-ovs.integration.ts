import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { spawn, type ChildProcess } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { eventually } from "../support/eventually.ts";

const script = fileURLToPath(new URL("../../image/start-ovs", import.meta.url));

let folder: string;
let main: ChildProcess;
let log = "";

beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "start-ovs-"));
    log = "";
});

afterEach(() => {
    main.kill("SIGKILL");
    for (const name of ["ovsdb-server", "ovs-vswitchd"]) {
        try {
            process.kill(pidOf(name), "SIGKILL");
        } catch {
            // It has ended, as it should.
        }
    }
    rmSync(folder, { recursive: true, force: true });
});

/** Stands in for a program of the image: tells that it runs, and what it was told. */
function program(name: string, body: string): void {
    writeFileSync(join(folder, name), `#!/bin/bash\necho $$ >${join(folder, name)}.pid\n${body}\n`);
    chmodSync(join(folder, name), 0o755);
}

const untilTerm = "trap 'exit 0' TERM; while :; do sleep 0.05; done";

async function start(): Promise<void> {
    program("ovsdb-tool", "exit 0");
    program("ovsdb-server", untilTerm);
    writeFileSync(join(folder, "conf.db"), "");
    const env = {
        PATH: `${folder}:${process.env["PATH"]}`,
        ...{ OVS_RUNDIR: folder, OVS_DBDIR: folder, ANTREA_STATE_DIR: folder, UPLINK_SECONDS: "1" },
    };
    main = spawn(script, { env, stdio: ["ignore", "ignore", "pipe"] });
    main.stderr?.setEncoding("utf8").on("data", (text: string) => (log += text));
    const started = (): boolean =>
        ["ovsdb-server", "ovs-vswitchd"].every((name) => existsSync(join(folder, `${name}.pid`)));
    await eventually(started, Boolean, 5_000);
    // The traps of the stand-ins are set after their numbers are written.
    await new Promise((resolve) => setTimeout(resolve, 200));
}

function pidOf(name: string): number {
    return Number(readFileSync(join(folder, `${name}.pid`), "utf8"));
}

/** How it ended, and after how many milliseconds. */
async function stop(): Promise<{ readonly code: number | null; readonly ms: number }> {
    const began = performance.now();
    const ended = new Promise<number | null>((resolve) => main.once("exit", resolve));
    main.kill("SIGTERM");
    return { code: await ended, ms: performance.now() - began };
}

const journal = (): string => join(folder, "uplink.json");

describe("start-ovs, told to end", () => {
    it("ends at once when the NIC is where it was", async () => {
        program("ovs-vswitchd", untilTerm);
        await start();
        const { code, ms } = await stop();
        expect(code).toBe(0);
        expect(ms).toBeLessThan(1_500);
    });

    it("waits until the agent has removed its journal", async () => {
        program("ovs-vswitchd", untilTerm);
        program("antrea-agent", "exit 1");
        await start();
        writeFileSync(journal(), "{}");
        const stopping = stop();
        await new Promise((resolve) => setTimeout(resolve, 500));
        expect(() => process.kill(pidOf("ovs-vswitchd"), 0)).not.toThrow();
        rmSync(journal());
        expect((await stopping).code).toBe(0);
        expect(existsSync(join(folder, "antrea-agent.pid"))).toBe(false);
    });

    it("brings the NIC back itself when the agent does not, while OVS still runs", async () => {
        program("ovs-vswitchd", untilTerm);
        program("antrea-agent", `kill -0 $(cat ${folder}/ovs-vswitchd.pid) && echo "$*" >${folder}/told`);
        await start();
        writeFileSync(journal(), "{}");
        expect((await stop()).code).toBe(0);
        expect(readFileSync(join(folder, "told"), "utf8")).toBe("restore-uplink\n");
    });

    it("kills a switch that hangs", async () => {
        program("ovs-vswitchd", "trap '' TERM; while :; do sleep 0.05; done");
        await start();
        const pid = pidOf("ovs-vswitchd");
        const { code, ms } = await stop();
        expect(code).toBe(0);
        expect(ms).toBeLessThan(8_000);
        expect(log).toContain(`process ${pid} does not end, killing it`);
        expect(() => process.kill(pid, 0)).toThrow("ESRCH");
    });
});
