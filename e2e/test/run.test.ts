import { describe, expect, it } from "@jest/globals";
import { CommandError, run } from "../fixture/run.ts";

/** Ends with a code of its own on SIGTERM, as kubectl does. */
const stubborn = "trap 'echo asked to end; exit 1' TERM; echo began; while :; do sleep 0.02; done";

describe("run", () => {
    it("resolves with the standard output, or with both outputs", async () => {
        const command = ["-c", "echo out; echo err >&2"];
        expect(await run("bash", command)).toBe("out\n");
        expect(await run("bash", command, { withErrors: true })).toBe("out\nerr\n");
    });

    it("rejects with the exit code and the output of a program that failed", async () => {
        const error = await failure(run("bash", ["-c", "echo no >&2; exit 3"]));
        expect(error).toMatchObject({ code: 3, output: "no\n" });
        expect(error.message).toBe("bash -c echo no >&2; exit 3 ended with 3:\nno\n");
    });

    it("reports that the time limit ended a program, whatever code it ended with", async () => {
        for (const script of [stubborn, "echo began; exec sleep 60"]) {
            // Long enough for bash to start and print on a busy machine.
            const error = await failure(run("bash", ["-c", script], { timeoutMs: 3_000 }));
            expect(error.message).toContain(`bash -c ${script} was ended after 3 s (its time limit):\nbegan\n`);
        }
    });

    it("reports the signal by which somebody else killed a program", async () => {
        const error = await failure(run("bash", ["-c", "kill -9 $$"], { timeoutMs: 20_000 }));
        expect(error.message).toContain("ended with SIGKILL");
    });

    it("reports that too much output ended a program", async () => {
        const error = await failure(run("bash", ["-c", "head -c 70000000 /dev/zero"]));
        expect(error.message.slice(0, 200)).toContain("ended with ERR_CHILD_PROCESS_STDIO_MAXBUFFER");
    });

    it("reports why a program is not there", async () => {
        expect((await failure(run("/no/such/program", []))).message).toContain("/no/such/program ended with ENOENT");
    });
});

async function failure(running: Promise<string>): Promise<CommandError> {
    const error = await running.catch((failed: unknown) => failed);
    if (!(error instanceof CommandError)) throw new Error(`no CommandError: ${String(error)}`);
    return error;
}
