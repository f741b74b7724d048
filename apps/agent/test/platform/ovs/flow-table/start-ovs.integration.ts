import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { eventually } from "../../../support/eventually.ts";
import { signal } from "../../../support/signal.ts";

const script = fileURLToPath(new URL("../../../../image/start-ovs", import.meta.url));

let folder: string;
let main: ChildProcess | undefined;
let log = "";

beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "start-ovs-"));
    log = "";
});

afterEach(async () => {
    if (main?.exitCode === null && main.signalCode === null) {
        const ended = new Promise((resolve) => main?.once("exit", resolve));
        main.kill("SIGTERM");
        await ended;
    }
    rmSync(folder, { recursive: true, force: true });
});

const file = (name: string): string => join(folder, name);

function transact(...operations: readonly object[]): void {
    execFileSync("ovsdb-tool", ["transact", file("conf.db"), JSON.stringify(["Open_vSwitch", ...operations])]);
}

function makeDatabase(datapathType: string | undefined): void {
    execFileSync("ovsdb-tool", ["create", file("conf.db"), "/usr/share/openvswitch/vswitch.ovsschema"]);
    transact({ op: "insert", table: "Open_vSwitch", row: {} });
    if (datapathType === undefined) return;
    transact(
        { op: "insert", table: "Bridge", "uuid-name": "bridge", row: { name: "br-int", datapath_type: datapathType } },
        {
            op: "mutate",
            table: "Open_vSwitch",
            where: [],
            mutations: [["bridges", "insert", ["named-uuid", "bridge"]]],
        },
    );
}

/** Whether the database makes a switch wait. */
function waits(): boolean {
    const select = { op: "select", table: "Open_vSwitch", where: [], columns: ["other_config"] };
    const args = ["query", file("conf.db"), JSON.stringify(["Open_vSwitch", select])];
    return execFileSync("ovsdb-tool", args, { encoding: "utf8" }).includes("flow-restore-wait");
}

const limitSeconds = 600;

/** The limit for the flows, which lasts until a test ends it; and all others, which are as they are. */
const standInOfSleep = (): string => `#!/bin/bash
[ "$1" = ${limitSeconds} ] || exec /bin/sleep "$@"
while [ -d ${folder} ] && [ ! -e ${file("over")} ]; do /bin/sleep 0.05; done
touch ${file("ended")}
`;

/** Starts it with the real database, and a stand-in of the switch that reports what it finds in it when it starts. */
function start(): void {
    writeFileSync(file("sleep"), standInOfSleep());
    chmodSync(file("sleep"), 0o755);
    writeFileSync(
        file("ovs-vswitchd"),
        `#!/bin/bash
echo $$ >${file("switch.pid")}
select='["Open_vSwitch",{"op":"select","table":"Open_vSwitch","where":[],"columns":["other_config"]}]'
ovsdb-tool query ${file("conf.db")} "$select" >>${file("found")}
trap 'exit 0' TERM
while [ -d ${folder} ]; do /bin/sleep 0.05; done
`,
    );
    chmodSync(file("ovs-vswitchd"), 0o755);
    const env = {
        PATH: `${folder}:${process.env["PATH"]}`,
        OVS_RUNDIR: folder,
        OVS_DBDIR: folder,
        ANTREA_STATE_DIR: folder,
        FLOW_RESTORE_SECONDS: String(limitSeconds),
    };
    main = spawn("setpriv", ["--pdeathsig", "KILL", script], { env, stdio: ["ignore", "ignore", "pipe"] });
    main.stderr?.setEncoding("utf8").on("data", (text: string) => (log += text));
}

/** What each switch found that was started, in their order. */
async function found(starts: number): Promise<readonly boolean[]> {
    const lines = (): readonly string[] =>
        existsSync(file("found")) ? readFileSync(file("found"), "utf8").split("\n").filter(Boolean) : [];
    return (await eventually(lines, ({ length }) => length >= starts)).map((line) =>
        line.includes("flow-restore-wait"),
    );
}

describe("start-ovs", () => {
    it("lets a switch with the kernel's datapath wait for its flows, also one that was killed, but not for ever", async () => {
        makeDatabase("system");
        start();
        expect(await found(1)).toEqual([true]);
        expect(waits()).toBe(true);
        writeFileSync(file("over"), "");
        expect(await eventually(waits, (answer) => !answer)).toBe(false);
        expect(
            await eventually(
                () => log,
                (text) => text.includes("no agent has sent"),
            ),
        ).toContain("within 600 s");
        rmSync(file("over"));
        signal(Number(readFileSync(file("switch.pid"), "utf8")), "SIGKILL");
        expect(await found(2)).toEqual([true, true]);
        expect(waits()).toBe(true);
        writeFileSync(file("over"), "");
        expect(await eventually(waits, (answer) => !answer)).toBe(false);
    });

    it("reports nothing when the agent has released the switch in time", async () => {
        makeDatabase("system");
        start();
        expect(await found(1)).toEqual([true]);
        await eventually(() => existsSync(file("db.sock")), Boolean);
        const remove = ["remove", "Open_vSwitch", ".", "other_config", "flow-restore-wait"];
        execFileSync("ovs-vsctl", ["--retry", `--db=unix:${file("db.sock")}`, "--no-wait", ...remove]);
        writeFileSync(file("over"), "");
        expect(await eventually(() => existsSync(file("ended")), Boolean)).toBe(true);
        // For what must not come.
        await new Promise((resolve) => setTimeout(resolve, 1_500));
        expect(waits()).toBe(false);
        expect(log).not.toContain("no agent has sent");
    });

    it.each([
        ["the userspace datapath", "netdev"],
        ["no bridge yet", undefined],
    ])("keeps nothing for a switch with %s", async (_, datapathType) => {
        makeDatabase(datapathType);
        start();
        expect(await found(1)).toEqual([false]);
        expect(waits()).toBe(false);
    });
});
