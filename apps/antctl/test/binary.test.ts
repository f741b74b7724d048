import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { parse } from "yaml";
import { antctl, binary, requireBinary } from "./support/antctl.ts";

// The compiled program, without a cluster. The target `test` builds it first.
const folder = mkdtempSync(join(tmpdir(), "antctl-bin-"));
const packageJson = new URL("../../../package.json", import.meta.url);
const { version } = JSON.parse(readFileSync(packageJson, "utf8")) as { readonly version: string };

beforeAll(() => {
    requireBinary();
    for (const name of ["antctl", "kubectl-antrea", "kubectl_complete-antrea"]) symlinkSync(binary, join(folder, name));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe("antctl", () => {
    it("prints its version in each format", async () => {
        const client = ["version", "--client"];
        expect(await antctl(client)).toEqual({ code: 0, stdout: `antctl ${version}\n`, stderr: "" });
        expect(JSON.parse((await antctl([...client, "-o", "json"])).stdout)).toEqual({ version });
        expect(parse((await antctl(["-o", "yaml", ...client])).stdout)).toEqual({ version });
    });

    it("shows help of each command, with what all commands take", async () => {
        for (const words of [
            [],
            ["ipam"],
            ["ipam", "show"],
            ["ipam", "who"],
            ["ipam", "explain"],
            ["ipam", "explain", "pod"],
            ["ipam", "plan"],
            ["ipam", "check"],
            ["ipam", "convert"],
            ["version"],
            ["completion"],
        ]) {
            const { code, stdout, stderr } = await antctl([...words, "--help"]);
            expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
            expect(stdout).toMatch(new RegExp(`^Usage: ${["antctl", ...words].join(" ")} `));
            expect(stdout).toMatch(/--kubeconfig <FILE>/);
            expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(100);
        }
    });

    it.each([
        [
            ["ipam", "shwo"],
            /^error: unknown command 'shwo' \(Did you mean show\?\)\n {2}next: run "antctl ipam --help"\n$/,
        ],
        [["ipam", "who"], /^error: missing required argument 'ADDRESS'\n {2}next: run "antctl ipam who --help"\n$/],
        [["ipam", "show", "a", "b"], /^error: too many arguments/],
        [
            ["ipam", "plan"],
            /^error: required option '-f, --filename <FILE>' not specified\n {2}next: run "antctl ipam plan --help"\n$/,
        ],
        [
            ["version", "-o", "xml"],
            /^error: option '-o, --output <FORMAT>' argument 'xml' is invalid\. Allowed choices are table, json, yaml\.\n/,
        ],
        [["version", "--request-timeout", "soon"], /It must be a duration such as 30s or 1m, or 0 for none\.\n/],
        [
            ["ipam", "explain", "pod", "a/b/c"],
            /^error: "a\/b\/c" names no Pod\n {2}next: write NAMESPACE\/NAME, such as default\/web-0\n$/,
        ],
        [["completion", "tcsh"], /Allowed choices are bash, zsh, fish\./],
        [[], /^Usage: antctl /],
    ])("exits with 64 for the command line %j", async (words, message) => {
        writeFileSync(
            join(folder, "config"),
            '{"current-context":"c","clusters":[{"name":"c","cluster":{"server":"https://127.0.0.1:1"}}],"users":[],"contexts":[{"name":"c","context":{"cluster":"c"}}]}',
        );
        const { code, stdout, stderr } = await antctl(words, { env: { KUBECONFIG: join(folder, "config") } });
        expect(stderr).toMatch(message);
        expect({ code, stdout }).toEqual({ code: 64, stdout: "" });
    });

    it.each<[string, readonly string[], Record<string, string>, number, RegExp]>([
        [
            "no configuration",
            ["ipam", "show"],
            {},
            1,
            /^error: not in a Pod .*\n {2}next: give --kubeconfig FILE or set KUBECONFIG/,
        ],
        [
            "a kubeconfig that is missing",
            ["--kubeconfig", "/nowhere", "ipam", "show"],
            {},
            1,
            /^error: cannot read kubeconfig \/nowhere: .*\n {2}next: /,
        ],
        [
            "KUBECONFIG of nothing",
            ["ipam", "show"],
            { KUBECONFIG: "/a:/b" },
            1,
            /^error: no kubeconfig: none of \/a, \/b exists\n/,
        ],
        [
            "a context that is not there",
            ["ipam", "show", "--context", "x"],
            { KUBECONFIG: "config" },
            1,
            /^error: the kubeconfig has no context "x": it has c\n/,
        ],
        [
            "no server",
            ["ipam", "show"],
            { KUBECONFIG: "config" },
            1,
            /no connection to 127\.0\.0\.1:1: .*\n {2}next: check that the API server can be reached: kubectl cluster-info\n$/,
        ],
        ["no server for a check", ["ipam", "check"], { KUBECONFIG: "config" }, 2, /no connection to 127\.0\.0\.1:1/],
        [
            "an address that is none",
            ["ipam", "who", "10.2.0.012"],
            { KUBECONFIG: "config" },
            1,
            /^error: "10\.2\.0\.012" is not an IP address: .*\n {2}next: write an address/,
        ],
        [
            "a file that is missing",
            ["ipam", "plan", "-f", "/nowhere"],
            { KUBECONFIG: "config" },
            1,
            /^error: cannot read \/nowhere: .*\n {2}next: /,
        ],
    ])("fails with what and next for %s", async (_name, words, env, exitCode, message) => {
        const at = env.KUBECONFIG === "config" ? { KUBECONFIG: join(folder, "config") } : env;
        const { code, stdout, stderr } = await antctl(words, { env: at });
        expect(stderr).toMatch(message);
        expect(stderr.trimEnd().split("\n")).toHaveLength(2);
        expect({ code, stdout }).toEqual({ code: exitCode, stdout: "" });
    });

    it("does not mind a reader that has seen enough", () => {
        const script = `"${binary}" completion bash | head -1; exit "\${PIPESTATUS[0]}"`;
        expect(execFileSync("bash", ["-c", script], { encoding: "utf8" })).toMatch(/^# bash completion/);
    });

    it.each([
        ["its result", "version"],
        ["an error", "ipam show --kubeconfig /nowhere"],
        ["help", "ipam --help"],
        ["a wrong command line", "ipam nothing"],
    ])("leaves a pipe that it writes %s to as it was for others", (_name, words) => {
        const script = `("${binary}" ${words}; head -c 1000000 /dev/zero) 2>&1 | (sleep 0.5; tr -cd '\\0' | wc -c)`;
        expect(Number(execFileSync("bash", ["-c", script], { encoding: "utf8" }))).toBe(1_000_000);
    });

    it("is a plugin of kubectl by its name", async () => {
        const { code, stdout } = await antctl(["ipam", "--help"], { program: join(folder, "kubectl-antrea") });
        expect(code).toBe(0);
        expect(stdout).toMatch(/^Usage: kubectl antrea ipam /);
    });

    it("completes for kubectl by its other name", async () => {
        const { code, stdout } = await antctl(["ipam", "s"], { program: join(folder, "kubectl_complete-antrea") });
        expect({ code, stdout }).toEqual({ code: 0, stdout: "show\tshow IPPools and how full they are\n:4\n" });
    });
});

describe("completion scripts", () => {
    const here = (shell: string): boolean => {
        try {
            execFileSync(shell, ["-c", "true"]);
            return true;
        } catch {
            return false;
        }
    };

    it.each(["bash", "zsh", "fish"])("%s can read its script", async (shell) => {
        const { code, stdout } = await antctl(["completion", shell]);
        expect(code).toBe(0);
        expect(stdout).toMatch(new RegExp(`^#.* ?${shell === "zsh" ? "compdef" : shell}`));
        const file = join(folder, `completion.${shell}`);
        writeFileSync(file, stdout);
        if (here(shell)) execFileSync(shell, ["-n", file]);
    });

    /** What bash would put in place of the word at the end of the line. */
    function bash(line: string, words: readonly string[]): Promise<readonly string[]> {
        const script = `
            source <(antctl completion bash)
            COMP_LINE=$1 COMP_POINT=\${#1}
            shift
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
            __antctl_complete
            printf '%s\\n' "\${COMPREPLY[@]}"`;
        // The names of EKS' contexts have colons, at which bash breaks words.
        const cluster = { server: "https://127.0.0.1:1" };
        const contexts = ["arn:aws:eks:eu:1:cluster/a", "arn:aws:eks:eu:1:cluster/b"];
        const config = {
            clusters: [{ name: "c", cluster }],
            contexts: contexts.map((name) => ({ name, context: { cluster: "c" } })),
        };
        writeFileSync(join(folder, "contexts"), JSON.stringify(config));
        const env = {
            PATH: `${folder}:${process.env.PATH}`,
            HOME: "/nonexistent",
            KUBECONFIG: join(folder, "contexts"),
        };
        const cwd = new URL("..", import.meta.url).pathname;
        return new Promise((resolve) => {
            execFile("bash", ["-c", script, "bash", line, ...words], { env, cwd }, (_error, stdout) => {
                resolve(stdout.split("\n").filter((each) => each !== ""));
            });
        });
    }

    it.each<[string, readonly string[], readonly string[]]>([
        ["antctl i", ["antctl", "i"], ["ipam"]],
        ["antctl ipam ", ["antctl", "ipam", ""], ["show", "who", "explain", "plan", "check", "convert"]],
        ["antctl --output=j", ["antctl", "--output", "=", "j"], ["json"]],
        ["antctl --output=", ["antctl", "--output", "="], ["table", "json", "yaml"]],
        [
            "antctl --context a",
            ["antctl", "--context", "a"],
            ["arn:aws:eks:eu:1:cluster/a", "arn:aws:eks:eu:1:cluster/b"],
        ],
        [
            "antctl --context arn:",
            ["antctl", "--context", "arn", ":"],
            ["aws:eks:eu:1:cluster/a", "aws:eks:eu:1:cluster/b"],
        ],
        [
            "antctl --context arn:aws:e",
            ["antctl", "--context", "arn", ":", "aws", ":", "e"],
            ["eks:eu:1:cluster/a", "eks:eu:1:cluster/b"],
        ],
        ["antctl ipam plan -f pack", ["antctl", "ipam", "plan", "-f", "pack"], ["package.json"]],
    ])("bash completes %j", async (line, words, replies) => {
        expect(await bash(line, words)).toEqual(replies);
    });

    it("fish completes, where there is one", () => {
        if (!here("fish")) return;
        const env = { PATH: `${folder}:${process.env.PATH}`, HOME: folder, TERM: "dumb" };
        const script = "antctl completion fish | source; complete -C 'antctl ipam s'";
        expect(execFileSync("fish", ["-c", script], { env, encoding: "utf8" })).toBe(
            "show\tshow IPPools and how full they are\n",
        );
    });
});
