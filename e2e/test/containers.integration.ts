import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { entryTo, inProcess } from "../fixture/containers.ts";
import { Background, eventually } from "../fixture/run.ts";

/** Stands for a container: a process in namespaces of its own. */
describe("a program in the namespaces of a process", () => {
    let container: ChildProcess;
    let pid = "";
    /** A device of this side, whatever the machine has. */
    const outside = `out-${process.pid}`;
    beforeAll(async () => {
        execFileSync("ip", ["tuntap", "add", outside, "mode", "tap"]);
        const namespaces = ["--pid", "--fork", "--kill-child", "--mount-proc", "--uts", "--net"];
        container = spawn("unshare", [...namespaces, "sh", "-c", "hostname inside; echo ready; sleep 300"], {
            env: { PATH: process.env["PATH"], WORD: "a=b" },
        });
        await new Promise((resolve) => container.stdout?.once("data", resolve));
        pid = readFileSync(`/proc/${container.pid}/task/${container.pid}/children`, "utf8").trim();
    });
    afterAll(() => {
        container.kill("SIGKILL");
        execFileSync("ip", ["link", "del", outside]);
    });

    const inside = (script: string, timeoutMs?: number): Promise<string> =>
        inProcess("the container", pid, ["sh", "-c", script], timeoutMs === undefined ? {} : { timeoutMs });
    const sleeps = async (seconds: number): Promise<number> =>
        Number(await inside(`grep -lz '^${seconds}$' /proc/[0-9]*/cmdline 2>/dev/null | wc -l`));

    it("sees what the process sees, and has its environment", async () => {
        expect(await inside('hostname; echo "$WORD"; ls /sys/class/net >/dev/null; cat /proc/1/comm')).toBe(
            "inside\na=b\nsh\n",
        );
        expect(hostname()).not.toBe("inside");
        // A new network namespace may have devices of modules of the kernel beside it, as gre0; it has none of the machine.
        const devices = [...(await inside("cat /proc/net/dev")).matchAll(/^ *([^\s:]+):/gm)].map(([, name]) => name);
        expect(devices).toContain("lo");
        expect(devices).not.toContain(outside);
    });

    it("reads its input, and fails with its exit code and output", async () => {
        expect(await inProcess("the container", pid, ["cat"], { input: "text" })).toBe("text");
        await expect(inside("echo why >&2; exit 7")).rejects.toMatchObject({
            code: 7,
            message: expect.stringMatching(/^sh -c .* \(in the container\) ended with 7:\nwhy\n$/s),
        });
    });

    it("ends at its time limit, with all that it started", async () => {
        await expect(inside("sleep 271 & sleep 271", 2_000)).rejects.toThrow("was ended after 2 s (its time limit)");
        await eventually("nothing is left", async () => (await sleeps(271)) === 0 || undefined);
    });

    it("ends in the background when it is disposed of", async () => {
        const { program, args, env } = await entryTo(pid, ["sh", "-c", "sleep 272 & sleep 272"], { seconds: 60 });
        const background = new Background(program, args, env);
        await eventually("both sleep", async () => (await sleeps(272)) === 2 || undefined);
        await background[Symbol.asyncDispose]();
        await eventually("nothing is left", async () => (await sleeps(272)) === 0 || undefined);
    });
});
