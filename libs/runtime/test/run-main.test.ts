import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { createInterface } from "node:readline";
import { describe, expect, it } from "@jest/globals";
import { ManualClock, settle } from "@antrea/async/testing";
import { RuntimeError } from "../src/errors.ts";
import { Lifecycle } from "../src/lifecycle.ts";
import { type MainContext, type MainOptions, runMain } from "../src/run-main.ts";
import { type LogRecord } from "../src/testing/index.ts";

/** A process that only notes its exit codes. */
class FakeProcess extends EventEmitter {
    readonly argv: readonly string[];
    readonly exits: number[] = [];

    constructor(...args: readonly string[]) {
        super();
        this.argv = ["node", "main.ts", ...args];
    }

    exit(code: number): void {
        this.exits.push(code);
    }
}

interface Run {
    readonly process: FakeProcess;
    readonly lines: string[];
    readonly ended: Promise<void>;
    messages(): string[];
}

function run(compose: MainOptions["compose"], ...args: readonly string[]): Run {
    const process = new FakeProcess(...args);
    const lines: string[] = [];
    const destination = { write: (line: string) => void lines.push(line) };
    const ended = runMain({ name: "test", version: "1.2.3", compose, process, destination });
    return { process, lines, ended, messages: () => lines.map((line) => (JSON.parse(line) as LogRecord).msg) };
}

function lifecycleOf(context: MainContext, ...parts: Parameters<Lifecycle["append"]>[0][]): Lifecycle {
    const lifecycle = new Lifecycle({ logger: context.logger, clock: new ManualClock() });
    for (const part of parts) lifecycle.append(part);
    return lifecycle;
}

describe("runMain", () => {
    it.each(["SIGTERM", "SIGINT"])("%s stops the parts, exit code 0", async (signal) => {
        const { process, ended, messages } = run((context) => lifecycleOf(context, { name: "a" }));
        await settle();
        process.emit(signal);
        await ended;
        expect(process.exits).toEqual([0]);
        expect(messages()).toEqual(["starting", "started", "running", "stopping", "stopped", "exiting"]);
    });

    it("a second signal exits at once", async () => {
        const { process } = run((context) =>
            lifecycleOf(context, { name: "a", stop: () => new Promise(() => undefined) }),
        );
        await settle();
        process.emit("SIGTERM");
        await settle();
        expect(process.exits).toEqual([]);
        process.emit("SIGINT");
        expect(process.exits).toEqual([130]);
    });

    it("a signal during the start gives it up, exit code 0", async () => {
        const { process, ended } = run((context) =>
            lifecycleOf(context, { name: "a", start: () => new Promise(() => undefined) }),
        );
        await settle();
        process.emit("SIGTERM");
        await ended;
        expect(process.exits).toEqual([0]);
    });

    it("a signal during the start gives it up, exit code 1 when a part does not stop then", async () => {
        const { process, ended, lines, messages } = run((context) =>
            lifecycleOf(
                context,
                { name: "a", stop: () => Promise.reject(new TypeError("busy")) },
                { name: "b", start: () => new Promise(() => undefined) },
            ),
        );
        await settle();
        process.emit("SIGTERM");
        await ended;
        expect(process.exits).toEqual([1]);
        expect(messages()).toEqual(["starting", "started", "stopping", "did not stop", "failed", "exiting"]);
        expect(lines.join("")).toMatch(/did not stop: a \(busy\)/);
    });

    it.each<[string, MainOptions["compose"], readonly string[]]>([
        ["compose throws", () => JSON.parse("{") as Lifecycle, ["starting", "failed", "exiting"]],
        [
            "a start fails",
            (context) => lifecycleOf(context, { name: "a", start: () => Promise.reject(new TypeError("no")) }),
            ["starting", "failed", "exiting"],
        ],
        [
            "a part calls fail",
            (context) => lifecycleOf(context, { name: "a", start: () => context.fail(new TypeError("lost the lock")) }),
            ["starting", "stopping because of an error", "exiting"],
        ],
    ])("exit code 1 when %s", async (_name, compose, expected) => {
        const { process, ended, messages } = run(compose);
        await ended;
        expect(process.exits).toEqual([1]);
        expect(messages()).toEqual(expected);
    });

    it("exit code 1 when a part does not stop", async () => {
        const { process, ended, lines } = run((context) =>
            lifecycleOf(context, { name: "a", stop: () => Promise.reject(new TypeError("busy")) }),
        );
        await settle();
        process.emit("SIGTERM");
        await ended;
        expect(process.exits).toEqual([1]);
        expect(lines.join("")).toMatch(/did not stop: a \(busy\)/);
    });

    it.each([["--nope"], ["--v=x"]])("exit code 1 on the flag %s, nothing composed", async (flag) => {
        const { process, ended, lines } = run(() => {
            throw new TypeError("composed");
        }, flag);
        await ended;
        expect(process.exits).toEqual([1]);
        expect(lines.join("")).toMatch(/BAD_FLAGS/);
        expect(lines.join("")).not.toMatch(/composed/);
    });

    it("--check ends when the parts are built: 0, or 1 with what is wrong", async () => {
        const started: string[] = [];
        const part = { name: "a", start: () => void started.push("a") };
        const good = run((context) => lifecycleOf(context, part), "--check");
        await good.ended;
        expect([good.process.exits, started]).toEqual([[0], []]);
        const bad = run(() => {
            throw new RuntimeError("BAD_FLAGS", "caller", "wrong");
        }, "--check");
        await bad.ended;
        expect(bad.process.exits).toEqual([1]);
        expect(bad.lines.join("")).toMatch(/wrong/);
    });

    it.each(["--check", "--print-start-order"])(
        "%s ends with 1 for an error that compose reports by fail",
        async (flag) => {
            const { process, lines, ended } = run((context) => {
                context.fail(new RuntimeError("BAD_FLAGS", "caller", "wrong"));
                return lifecycleOf(context);
            }, flag);
            await ended;
            expect(process.exits).toEqual([1]);
            expect(lines.join("")).toMatch(/wrong/);
            expect(lines.join("")).not.toMatch(/can be used/);
        },
    );

    it("--print-start-order prints the parts, starts none, and is silent about the rest", async () => {
        const started: string[] = [];
        const part = (name: string): Parameters<Lifecycle["append"]>[0] => ({
            name,
            start: () => void started.push(name),
        });
        const { process, lines, ended } = run((context) => {
            context.logger.warn("configuration");
            const features = { ...part("features"), includes: ["b", "a"] };
            return lifecycleOf(context, part("database"), { name: "probes" }, features, part("cni"));
        }, "--print-start-order");
        await ended;
        const printed = ["database\n", "probes\n", "features\n", "features/b\n", "features/a\n", "cni\n"];
        expect([lines, process.exits, started]).toEqual([printed, [0], []]);
        const bad = run(() => {
            throw new RuntimeError("BAD_FLAGS", "caller", "wrong");
        }, "--print-start-order");
        await bad.ended;
        expect(bad.process.exits).toEqual([1]);
        expect(bad.lines.join("")).toMatch(/wrong/);
    });

    it("--version prints it; --v sets the level of the log", async () => {
        const version = run((context) => lifecycleOf(context), "--version");
        await version.ended;
        expect([version.lines, version.process.exits]).toEqual([["1.2.3\n"], [0]]);

        const levels: boolean[] = [];
        const verbose = run((context) => {
            levels.push(context.logger.enabled("debug"), context.logger.enabled("trace"));
            return lifecycleOf(context);
        }, "--v=2");
        await settle();
        verbose.process.emit("SIGTERM");
        await verbose.ended;
        expect(levels).toEqual([true, false]);
    });
});

describe("a real process", () => {
    async function daemon(
        mode: string,
        signals: readonly NodeJS.Signals[],
    ): Promise<{ exit: unknown; lines: string[] }> {
        const script = new URL("fixtures/daemon.ts", import.meta.url).pathname;
        const child = spawn(process.execPath, [script, "--config", mode], { stdio: ["ignore", "pipe", "inherit"] });
        const exited = once(child, "exit");
        const lines: string[] = [];
        const queue = [...signals];
        for await (const line of createInterface({ input: child.stdout })) {
            lines.push(line);
            if (/"msg":"(running|stopping)"/.test(line)) {
                const signal = queue.shift();
                if (signal !== undefined) child.kill(signal);
            }
        }
        const [code] = (await exited) as [number | null];
        return { exit: code, lines };
    }

    it.each<[mode: string, signals: readonly NodeJS.Signals[], exit: number, last: RegExp]>([
        ["calm", ["SIGTERM"], 0, /"code":0,"msg":"exiting"/],
        ["stuck", ["SIGTERM", "SIGTERM"], 143, /"msg":"second signal, exiting at once"/],
        ["throw", [], 1, /"type":"SyntaxError".*"msg":"uncaught exception"/],
        ["reject", [], 1, /"message":"nobody waits".*"msg":"unhandled rejection"/],
    ])("%s, %j: exit code %i, and the last line is written", async (mode, signals, exit, last) => {
        const result = await daemon(mode, signals);
        expect(result.exit).toBe(exit);
        expect(result.lines.at(-1)).toMatch(last);
    });
});
