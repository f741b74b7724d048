import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import {
    chmodSync,
    existsSync,
    lstatSync,
    mkdirSync,
    mkdtempSync,
    readdirSync,
    readFileSync,
    readlinkSync,
    rmSync,
    writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { eventually } from "../../../support/eventually.ts";
import { signal } from "../../../support/signal.ts";

const script = fileURLToPath(new URL("../../../../image/start-ovs", import.meta.url));

let folder: string;
let main: ChildProcess;
let log = "";

beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "start-ovs-"));
});

afterEach(() => {
    main.kill("SIGKILL");
    for (const name of ["ovsdb-server", "ovs-vswitchd"]) {
        try {
            signal(pidOf(name), "SIGKILL");
        } catch {
            // It has ended, as it should.
        }
    }
    rmSync(folder, { recursive: true, force: true });
});

/**
 * Stands in for a program of the image: reports that it runs, after `before`, so that its traps are set by then. The file with its
 * process id is there whole or not at all.
 */
function program(name: string, body: string, before = ""): void {
    writeFileSync(
        join(folder, name),
        `#!/bin/bash\n${before}\necho $$ >${join(folder, name)}.new && mv ${join(folder, name)}.new ${join(folder, name)}.pid\n${body}\n`,
    );
    chmodSync(join(folder, name), 0o755);
}

/** One that started after its process id was last read ends with the folder. */
const forever = 'while [ -d "${0%/*}" ]; do /bin/sleep 0.05; done';

/** A daemon that ends on a signal, and writes NAME.ended. */
function daemon(name: string): void {
    program(name, forever, `trap 'touch ${join(folder, name)}.ended; exit 0' TERM`);
}

/** No test waits for this long: whoever waits to the end of it fails by the time-out of the test. */
const longSeconds = 600;

interface Limits {
    readonly agentSeconds?: number;
    readonly endSeconds?: number;
}

async function start(
    { agentSeconds = longSeconds, endSeconds = longSeconds }: Limits = {},
    more: Readonly<Record<string, string>> = {},
): Promise<void> {
    program("ovsdb-tool", "exit 0");
    daemon("ovsdb-server");
    writeFileSync(join(folder, "conf.db"), "");
    const env = {
        PATH: `${folder}:${process.env["PATH"]}`,
        OVS_RUNDIR: folder,
        OVS_DBDIR: folder,
        ANTREA_STATE_DIR: folder,
        AGENT_SECONDS: String(agentSeconds),
        END_SECONDS: String(endSeconds),
        NOTICE_SECONDS: String(longSeconds),
        ...more,
    };
    const child = spawn(script, { env, stdio: ["ignore", "ignore", "pipe"] });
    main = child;
    log = "";
    // what an earlier test left over may still write
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
        if (main === child) log += text;
    });
    const started = (): boolean =>
        ["ovsdb-server", "ovs-vswitchd"].every((name) => existsSync(join(folder, `${name}.pid`)));
    expect(await eventually(started, Boolean, 50_000)).toBe(true);
}

function pidOf(name: string): number {
    return Number(readFileSync(join(folder, `${name}.pid`), "utf8"));
}

const hasEnded = (name: string): boolean => existsSync(join(folder, `${name}.ended`));

/** How it ended. Rejects with what is known if it does not end. */
async function stop(): Promise<number | null> {
    if (main.exitCode !== null || main.signalCode !== null) throw new Error(`it had ended before:\n${log}`);
    // "close" comes after the last line of its log
    const ended = new Promise<number | null>((resolve) => main.once("close", resolve));
    main.kill("SIGTERM");
    const limit = new AbortController();
    const known = async (): Promise<never> => {
        await setTimeout(100_000, undefined, { signal: limit.signal });
        const all = execFileSync("ps", ["-eo", "pid,ppid,stat,wchan:20,args", "--forest"], { encoding: "utf8" });
        const lines = all.split("\n").filter((line) => line.includes("start-ovs"));
        throw new Error(
            `process ${main.pid} ended with ${main.exitCode} ${main.signalCode}\n${log}\n${lines.join("\n")}`,
        );
    };
    try {
        return await Promise.race([ended, known()]);
    } finally {
        limit.abort();
    }
}

const journal = (): string => join(folder, "uplink.json");
const waiting = "waiting until the agent has given the Node its interface back";
const killing = "does not end, killing it";

const quietly = { throwIfNoEntry: false } as const;

/** The ids of the processes that start-ovs has started and that live. */
const children = (): string => readFileSync(`/proc/${main.pid}/task/${main.pid}/children`, "utf8").trim();
/** Empty if it has ended meanwhile. */
function nameOf(pid: string): string {
    try {
        return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
    } catch {
        return "";
    }
}
/** What a process has open: paths, and pipes as "pipe:[INODE]". */
const filesOf = (pid: number): string[] =>
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
        try {
            return readlinkSync(`/proc/${pid}/fd/${fd}`);
        } catch {
            return []; // the one that the folder was read by
        }
    });
/** How often it was woken. */
const wakes = (): number =>
    Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(readFileSync(`/proc/${main.pid}/status`, "utf8"))?.[1]);

describe("start-ovs, while both daemons run", () => {
    it("monitors them without starting a process for that", async () => {
        program("sleep", `touch ${folder}/slept`);
        daemon("ovs-vswitchd");
        await start();
        const names = (): string => children().split(" ").map(nameOf).join();
        const all = "ovsdb-server,ovs-vswitchd";
        // the last that it does before it waits, by programs
        const link = (): boolean =>
            lstatSync(join(folder, `ovs-vswitchd.${pidOf("ovs-vswitchd")}.ctl`), quietly) !== undefined;
        expect(await eventually(link, Boolean, 50_000)).toBe(true);
        expect(await eventually(names, (found) => found === all, 50_000)).toBe(all);
        const first = wakes();
        expect(await eventually(wakes, (times) => times >= first + 10, 50_000)).toBeGreaterThanOrEqual(first + 10);
        expect(names()).toBe(all);
        expect(existsSync(join(folder, "slept"))).toBe(false);
    });

    it("starts a database again that was killed while it started the switch", async () => {
        const database = join(folder, "ovsdb-server.pid");
        const kill = `until [ -s ${database} ]; do /bin/sleep 0.05; done
            mv ${database} ${database}.killed && kill -KILL $(cat ${database}.killed) && /bin/sleep 0.5`;
        program("ln", `case $3 in */ovs-vswitchd.*) ${kill} ;; esac`);
        daemon("ovs-vswitchd");
        await start();
        const again = (): boolean => existsSync(`${database}.killed`) && existsSync(database);
        expect(await eventually(again, Boolean, 50_000)).toBe(true);
    });

    it("gives the daemons no file of its own", async () => {
        const inherited = new Set(filesOf(process.pid));
        daemon("ovs-vswitchd");
        await start();
        // another one at times: what it reads from a program
        const pipes = (): string[] =>
            filesOf(Number(main.pid)).filter((file) => file.startsWith("pipe:") && !inherited.has(file));
        const own = await eventually(pipes, ({ length }) => length === 1, 50_000);
        expect(own).toHaveLength(1);
        for (const name of ["ovsdb-server", "ovs-vswitchd"]) expect(filesOf(pidOf(name))).not.toContain(own[0]);
    });
});

describe("start-ovs, asked to end", () => {
    /** Starts it so that it waits where it takes the process id of the switch, until the function is called. */
    async function startHeld(): Promise<() => void> {
        daemon("ovs-vswitchd");
        const [slow, go] = [join(folder, "slow"), join(folder, "go")];
        // the second process id that it takes
        const held = `[ $n -ne 2 ] || until [ -e ${go} ]; do /bin/sleep 0.1; done`;
        const lines = [
            `n=0; late() { case $BASH_COMMAND in *'$!'*) n=$((n + 1)); ${held} ;; esac; }`,
            "case ${0##*/} in start-ovs) set -T; trap late DEBUG ;; esac",
        ];
        writeFileSync(slow, `${lines.join("\n")}\n`);
        await start({}, { BASH_ENV: slow });
        return () => writeFileSync(go, "");
    }

    it("ends a switch that it has just started, before it has noted the process", async () => {
        const goOn = await startHeld();
        const ending = stop();
        goOn();
        expect(await ending).toBe(0);
        expect(hasEnded("ovs-vswitchd")).toBe(true);
        expect(hasEnded("ovsdb-server")).toBe(true);
    });

    // Bash abandons the handler of a signal that waits for a program when the next signal comes.
    it("ends when signals come one after the other", async () => {
        daemon("ovs-vswitchd");
        await start();
        const ending = stop();
        let hasEnded = false;
        void ending.then(() => (hasEnded = true));
        while (!hasEnded) {
            main.kill("SIGINT");
            await setTimeout(10);
        }
        expect(await ending).toBe(0);
        expect(log.match(/stopping/g)).toHaveLength(1);
    });

    it.each([
        ["while it waits", false],
        ["while it starts a switch", true],
    ])("%s, does not begin anew when it is asked again", async (_, starting) => {
        program("antrea-agent", "exit 1");
        const goOn = await startHeld();
        if (!starting) {
            goOn();
            await eventually(
                () => log,
                (text) => text.includes("ovs-vswitchd is process"),
                50_000,
            );
        }
        writeFileSync(journal(), "{}");
        const ending = stop();
        goOn();
        await eventually(
            () => log,
            (text) => text.includes(waiting),
            50_000,
        );
        main.kill("SIGTERM");
        await setTimeout(500);
        rmSync(journal());
        expect(await ending).toBe(0);
        expect(log.match(/stopping/g)).toHaveLength(1);
        expect(log.match(new RegExp(waiting, "g"))).toHaveLength(1);
    });

    it("ends at once when the NIC is where it was", async () => {
        daemon("ovs-vswitchd");
        await start();
        expect(await stop()).toBe(0);
        expect(log).not.toContain(waiting);
        expect(log).not.toContain(killing);
        expect(hasEnded("ovs-vswitchd")).toBe(true);
        expect(hasEnded("ovsdb-server")).toBe(true);
    });

    it("waits until the agent has removed its journal", async () => {
        daemon("ovs-vswitchd");
        program("antrea-agent", "exit 1");
        await start();
        writeFileSync(journal(), "{}");
        const stopping = stop();
        await eventually(
            () => log,
            (text) => text.includes(waiting),
            50_000,
        );
        expect(log).toContain(waiting);
        await setTimeout(500);
        expect(hasEnded("ovs-vswitchd")).toBe(false);
        rmSync(journal());
        expect(await stopping).toBe(0);
        expect(hasEnded("ovs-vswitchd")).toBe(true);
        expect(existsSync(join(folder, "antrea-agent.pid"))).toBe(false);
    });

    it("waits for the journal of each NIC of the secondary bridge too", async () => {
        daemon("ovs-vswitchd");
        program("antrea-agent", "exit 1");
        await start();
        const journals = ["eth1", "eth2"].map((nic) => join(folder, "nics", nic, "uplink.json"));
        for (const file of journals) {
            mkdirSync(dirname(file), { recursive: true });
            writeFileSync(file, "{}");
        }
        const stopping = stop();
        for (const file of journals) {
            await eventually(
                () => log,
                (text) => text.includes(waiting),
                50_000,
            );
            await setTimeout(500);
            expect(hasEnded("ovs-vswitchd")).toBe(false);
            rmSync(file);
        }
        expect(await stopping).toBe(0);
        expect(existsSync(join(folder, "antrea-agent.pid"))).toBe(false);
    });

    it("brings the NIC back itself when the agent does not, while OVS still runs", async () => {
        daemon("ovs-vswitchd");
        program("antrea-agent", `kill -0 $(cat ${folder}/ovs-vswitchd.pid) && echo "$*" >${folder}/arguments`);
        await start({ agentSeconds: 1 });
        writeFileSync(journal(), "{}");
        expect(await stop()).toBe(0);
        expect(readFileSync(join(folder, "arguments"), "utf8")).toBe("restore-uplink\n");
    });

    it("gives the uplink back though the program that does it is killed", async () => {
        program(
            "antrea-agent",
            `echo "$*" >>${folder}/asked; [ $(wc -l <${folder}/asked) -ge 3 ] && rm ${journal()} || kill -9 $$`,
        );
        await start({ agentSeconds: 1 });
        writeFileSync(journal(), "{}");
        expect(await stop()).toBe(0);
        expect(readFileSync(join(folder, "asked"), "utf8")).toBe("restore-uplink\n".repeat(3));
        expect(log).toContain("restore-uplink has failed, attempt 2 of 3: exit code 137");
        expect(log).not.toContain("still a port");
    });

    it("does not try again when that would take longer than the Pod has", async () => {
        program("antrea-agent", `echo "$*" >>${folder}/asked; sleep 3; exit 1`);
        await start({ agentSeconds: 1 }, { RETRY_SECONDS: "1" });
        writeFileSync(journal(), "{}");
        expect(await stop()).toBe(0);
        expect(readFileSync(join(folder, "asked"), "utf8")).toBe("restore-uplink\n");
        expect(log).toContain("still a port");
    });

    it("kills a switch that hangs, after its grace period", async () => {
        program("ovs-vswitchd", forever, "trap '' TERM");
        await start({ endSeconds: 2 });
        const pid = pidOf("ovs-vswitchd");
        const began = performance.now();
        expect(await stop()).toBe(0);
        expect(performance.now() - began).toBeGreaterThanOrEqual(2_000);
        expect(log).toContain(`process ${pid} ${killing}`);
        expect(existsSync(`/proc/${pid}`)).toBe(false);
        // The database still got its own, and needed none of it.
        expect(log.match(new RegExp(killing, "g"))).toHaveLength(1);
        expect(hasEnded("ovsdb-server")).toBe(true);
    });

    it("keeps its limits on a Node so busy that every pause takes ten times as long", async () => {
        program("sleep", `echo pause >>${folder}/pauses; exec /bin/sleep 1`);
        program("ovs-vswitchd", forever, "trap '' TERM");
        program("antrea-agent", "exit 0");
        await start({ agentSeconds: 3, endSeconds: 3 });
        writeFileSync(journal(), "{}");
        expect(await stop()).toBe(0);
        expect(log).toContain(killing);
        expect(existsSync(join(folder, "antrea-agent.pid"))).toBe(true);
        // Each limit has room for four pauses of a second, and not for the 15 and 30 short ones of an idle Node.
        expect(readFileSync(join(folder, "pauses"), "utf8").split("\n").length - 1).toBeLessThanOrEqual(2 * 5);
    });
});
