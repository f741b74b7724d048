import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "@jest/globals";

const main = new URL("../main.ts", import.meta.url).pathname;
const worker = new URL("../worker.ts", import.meta.url).pathname;

/** It takes some seconds; on a machine that is busy with other things, much longer. */
const limitMs = 240_000;

interface Ended {
    readonly code: number;
    readonly stdout: string;
}

// A process of its own: it replaces time and chance for all of its code.
async function simulate(...args: readonly string[]): Promise<Ended> {
    try {
        const { stdout } = await promisify(execFile)("node", [main, ...args], { maxBuffer: 1 << 26 });
        return { code: 0, stdout };
    } catch (error) {
        return error as Ended;
    }
}

describe("the simulation", () => {
    it(
        "finds nothing in a few seeds",
        async () => {
            const { code, stdout } = await simulate("--seeds", "4", "--steps", "500");
            expect(stdout).toContain("4 seeds, 0 failed");
            expect(code).toBe(0);
        },
        limitMs,
    );

    it(
        "repeats a seed to the letter",
        async () => {
            // With networks and restarts of agents: what reads a real file at a start ends at no fixed virtual time.
            const [one, other, next] = await Promise.all([
                simulate("--seed", "7", "--steps", "1000", "--digest"),
                simulate("--seed", "7", "--steps", "1000", "--digest"),
                simulate("--seed", "6", "--steps", "200", "--digest"),
            ]);
            expect(one.stdout).toBe(other.stdout);
            expect(next.stdout).not.toBe(one.stdout);
        },
        limitMs,
    );

    it.each([
        ["a history", ["--seed", "1", "--steps", "500"]],
        ["many seeds", ["--seeds", "6", "--steps", "800", "--workers", "2", "--seeded-bug", "wrong-index"]],
    ])(
        "ends without a message and with a failure code when the reader of %s closes the pipe",
        async (_, args) => {
            const piped = `node "$@" | head -n 1; exit "\${PIPESTATUS[0]}"`;
            const ended = promisify(execFile)("bash", ["-c", piped, "bash", main, ...args]);
            await expect(ended).rejects.toMatchObject({
                code: 141,
                stderr: "",
                stdout: expect.stringMatching(/^.+\n$/),
            });
        },
        limitMs,
    );

    it("ends its workers without a message when it ends while they start", async () => {
        const parent = `require("node:child_process").fork(process.argv[1], [], {
            stdio: ["ignore", "ignore", "inherit", "ipc"],
        });
        setTimeout(() => process.exit(0), Number(process.argv[2]));`;
        for (const ms of ["50", "150", "300"]) {
            // Until the worker has ended too, which has the same standard error.
            const { stderr } = await promisify(execFile)(process.execPath, ["-e", parent, worker, ms]);
            expect(stderr).toBe("");
        }
    });

    it(
        "finds a seeded bug and prints the command that repeats it, shrunk",
        async () => {
            const { code, stdout } = await simulate("--seeds", "1", "--seeded-bug", "wrong-index");
            expect(code).toBe(1);
            const [, seed = "", actions = ""] = /make simulate SEED=(\d+) .*ACTIONS=([\d,]+)/.exec(stdout) ?? [];
            const again = await simulate("--seed", seed, "--actions", actions, "--seeded-bug", "wrong-index");
            expect(again.code).toBe(1);
            expect(again.stdout).toContain("a running container's address is not free");
        },
        limitMs,
    );

    it(
        "prints all to a reader that takes its time",
        async () => {
            const history = `node ${main} --seed 1 --actions 2 --seeded-bug wrong-index`;
            const { stdout } = await promisify(execFile)("sh", ["-c", `${history} | (sleep 8; cat)`]);
            // more than a pipe holds
            expect(stdout.length).toBeGreaterThan(65_536);
            expect(stdout).toMatch(/\nseed 1: \d+ steps, 1 actions, [^\n]*\n$/);
        },
        limitMs,
    );
});
