import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { messageOf } from "@antrea/errors";
import { Unixctl, UnixctlError } from "../../../../src/platform/ovs/datapath/index.ts";

const pid = 4711;
let runDir: string;
let server: Server | undefined;
let received: string;
let closed: Promise<void>;

beforeEach(() => {
    runDir = mkdtempSync(join(tmpdir(), "ctl-"));
    writeFileSync(join(runDir, "ovs-vswitchd.pid"), `${pid}\n`);
    received = "";
});

afterEach(async () => {
    const running = server;
    server = undefined;
    if (running !== undefined) await new Promise((resolve) => running.close(resolve));
    rmSync(runDir, { recursive: true });
});

/** Listens as ovs-vswitchd does; `answer` is called once for a connection, when a request has begun to come. */
async function listen(answer: (socket: Socket) => void): Promise<void> {
    const ended = Promise.withResolvers<void>();
    closed = ended.promise;
    server = createServer((socket) => {
        socket.on("error", () => undefined);
        socket.on("close", () => ended.resolve());
        socket.once("data", () => answer(socket));
        socket.on("data", (chunk) => (received += chunk.toString()));
    });
    const path = join(runDir, `ovs-vswitchd.${pid}.ctl`);
    await new Promise<void>((resolve) => server?.listen(path, resolve));
}

const reply = (result: unknown, error: unknown = null): string => JSON.stringify({ id: 0, result, error });

async function failureOf(work: Promise<unknown>): Promise<UnixctlError> {
    const error = await work.then(
        () => undefined,
        (reason: unknown) => reason,
    );
    if (!(error instanceof UnixctlError)) throw new TypeError(`no UnixctlError but ${messageOf(error)}`);
    return error;
}

describe("a command", () => {
    it("is one request in JSON-RPC 1.0 on a connection of its own, which is closed after the answer", async () => {
        await listen((socket) => socket.write(reply("3.1.0\n")));
        const text = await new Unixctl({ runDir }).request("dpif/show-dp-features", ["br-int"]);
        expect(text).toBe("3.1.0\n");
        expect(JSON.parse(received)).toEqual({ id: 0, method: "dpif/show-dp-features", params: ["br-int"] });
        await closed;
    });

    it("may be answered byte by byte, in any language", async () => {
        const bytes = Buffer.from(reply('ganz größer: }{"\\ 🙂'));
        await listen((socket) => {
            const write = (at: number): void => {
                socket.write(bytes.subarray(at, at + 1));
                if (at + 1 < bytes.length) setImmediate(write, at + 1);
            };
            write(0);
        });
        expect(await new Unixctl({ runDir }).request("version")).toBe('ganz größer: }{"\\ 🙂');
    });

    it("that is refused gives the words of OVS", async () => {
        await listen((socket) => socket.write(reply(null, "no such bridge\n")));
        const error = await failureOf(new Unixctl({ runDir }).request("dpif/show-dp-features", ["br-none"]));
        expect(error).toMatchObject({
            code: "REFUSED",
            fault: "environment",
            message: `ovs-vswitchd at ${runDir}/ovs-vswitchd.4711.ctl refused dpif/show-dp-features br-none: no such bridge`,
            details: { answer: "no such bridge", command: "dpif/show-dp-features", args: ["br-none"] },
        });
    });

    it("goes to the daemon that runs now", async () => {
        const control = new Unixctl({ runDir });
        await listen((socket) => socket.write(reply("first")));
        expect(await control.request("version")).toBe("first");
        writeFileSync(join(runDir, "ovs-vswitchd.pid"), "4712\n");
        expect((await failureOf(control.request("version"))).details["socketPath"]).toBe(
            join(runDir, "ovs-vswitchd.4712.ctl"),
        );
    });
});

describe("no answer", () => {
    const [ok, tooMuch] = [reply("x"), reply("x".repeat(5_000))];

    it.each<[string, (socket: Socket) => void, string, RegExp]>([
        ["the daemon hangs", () => undefined, "TIMEOUT", /did not answer list-commands x within 200 ms; it hangs/],
        ["half of it", (socket) => socket.write(ok.slice(0, -3)), "TIMEOUT", /within 200 ms/],
        ["the connection ends", (socket) => socket.end(), "DISCONNECTED", /closed the connection before the answer/],
        ["it ends within", (socket) => socket.end(ok.slice(0, -3)), "DISCONNECTED", /may have ended: see the log/],
        ["it is reset", (socket) => socket.destroy(), "DISCONNECTED", /before the answer to list-commands x/],
        ["too long", (socket) => socket.write(tooMuch), "ANSWER_TOO_LONG", /ask for less than 4096 bytes/],
        [
            "without an end",
            (socket) => {
                const fill = (): void => void (socket.writable && socket.write('{"a":"'.padEnd(65_536, "b"), fill));
                fill();
            },
            "ANSWER_TOO_LONG",
            /too long an answer to list-commands x/,
        ],
        ["no JSON", (socket) => socket.write("HTTP/1.1 400 Bad Request\r\n"), "BAD_ANSWER", /is this the socket of/],
        ["broken JSON", (socket) => socket.write("{]}"), "BAD_ANSWER", /JSON-RPC/],
        ["no UTF-8", (socket) => socket.write(Buffer.from([0x7b, 0xff, 0x7d])), "BAD_ANSWER", /JSON-RPC/],
        ["an array", (socket) => socket.write('{"id":0,"result":[],"error":null}'), "BAD_ANSWER", /no text/],
        ["nothing", (socket) => socket.write('{"id":0,"result":null,"error":null}'), "BAD_ANSWER", /no text/],
        ["of another id", (socket) => socket.write(ok.replace("0", "1")), "BAD_ANSWER", /no answer to list-commands x/],
        ["a request", (socket) => socket.write('{"id":0,"method":"a","params":[]}'), "BAD_ANSWER", /no answer to/],
    ])("%s", async (_, answer, code, words) => {
        await listen(answer);
        const control = new Unixctl({ runDir, timeoutMs: 200, maxAnswerBytes: 4_096 });
        const error = await failureOf(control.request("list-commands", ["x"]));
        expect(error).toMatchObject({ code, message: expect.stringMatching(words) });
        expect(error.message).toContain(join(runDir, "ovs-vswitchd.4711.ctl"));
        await closed;
    });

    it.each([
        [
            "without a pid file",
            undefined,
            /is not running, \S+\/ovs-vswitchd.pid cannot be read: no process .* version/,
        ],
        ["with an empty one", "", /holds no process id/],
        ["with a path in it", "../../etc/passwd\n", /holds no process id/],
        ["of a daemon that was killed", "4711\n", /ovs-vswitchd.4711.ctl does not listen for version; see the log/],
    ])("%s", async (_, content, words) => {
        rmSync(join(runDir, "ovs-vswitchd.pid"));
        if (content !== undefined) writeFileSync(join(runDir, "ovs-vswitchd.pid"), content);
        const error = await failureOf(new Unixctl({ runDir }).request("version"));
        expect(error).toMatchObject({ code: "NOT_RUNNING", fault: "environment" });
        expect(error.message).toMatch(words);
    });

    it("after the caller gave up, at once, and the connection is closed", async () => {
        const asked = Promise.withResolvers<void>();
        await listen(() => asked.resolve());
        const stop = new AbortController();
        const failure = failureOf(new Unixctl({ runDir }).request("version", [], stop.signal));
        await asked.promise;
        stop.abort();
        expect(await failure).toMatchObject({ code: "ABORTED", fault: "aborted" });
        await closed;
    });

    it("when the caller gave up before", async () => {
        const failure = failureOf(new Unixctl({ runDir }).request("version", [], AbortSignal.abort()));
        expect(await failure).toMatchObject({ code: "ABORTED", fault: "aborted" });
    });
});
