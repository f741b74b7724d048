import { execFile } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { ErrorCode } from "@antrea/cni";
import { serveCni, socketFolder } from "./support/grpc-server.ts";

// The compiled binary as a runtime starts it. The target `test` builds it first.
const dist = new URL("../dist/", import.meta.url).pathname;
const binary = `${dist}antrea-cni`;
const config = '{"cniVersion":"1.0.0","name":"antrea","type":"antrea"}';

interface Exit {
    readonly code: number;
    readonly stdout: string;
    readonly stderr: string;
}

function start(socketPath: string, change: Readonly<Record<string, string>> = {}, input = config): Promise<Exit> {
    const env = {
        CNI_COMMAND: "ADD",
        CNI_CONTAINERID: "abc",
        CNI_NETNS: "/n",
        CNI_IFNAME: "eth0",
        ANTREA_CNI_SOCKET: socketPath,
        ...change,
    };
    return new Promise((resolve) => {
        const child = execFile(binary, { env, maxBuffer: 1 << 26, timeout: 120_000 }, (error, stdout, stderr) => {
            resolve({ code: typeof error?.code === "number" ? error.code : error === null ? 0 : -1, stdout, stderr });
        });
        child.stdin?.on("error", () => undefined);
        child.stdin?.end(input);
    });
}

beforeAll(() => {
    if (!existsSync(binary)) throw new Error(`${binary} is missing: run "npx nx build antrea-cni"`);
});

describe("the compiled plugin", () => {
    it("prints the result of the agent unchanged", async () => {
        const requests: string[] = [];
        await using server = await serveCni((method, { cniArgs }) => {
            requests.push(`${method} ${cniArgs.containerId} ${new TextDecoder().decode(cniArgs.networkConfiguration)}`);
            return { cniResult: Buffer.from('{"ips" : []}\n') };
        });
        expect(await start(server.socketPath)).toEqual({ code: 0, stdout: '{"ips" : []}\n', stderr: "" });
        expect(requests).toEqual([`CmdAdd abc ${config}`]);
    });

    it("prints nothing for calls without a result", async () => {
        await using server = await serveCni(() => ({ cniResult: new Uint8Array() }));
        expect(await start(server.socketPath, { CNI_COMMAND: "DEL" })).toEqual({ code: 0, stdout: "", stderr: "" });
    });

    it("passes on every error code", async () => {
        let code = 0;
        await using server = await serveCni(() => ({
            cniResult: new Uint8Array(),
            error: { code, message: "no", details: [] },
        }));
        for (code of Object.values(ErrorCode)) {
            const exit = await start(server.socketPath);
            expect(exit).toMatchObject({ code: 1, stderr: "" });
            expect(JSON.parse(exit.stdout)).toEqual({ cniVersion: "1.0.0", code, msg: "no" });
        }
    });

    it("carries a configuration and a result of 1 MB", async () => {
        const large = JSON.stringify({ filler: "ä".repeat(500_000) });
        await using server = await serveCni((_method, { cniArgs }) => ({ cniResult: cniArgs.networkConfiguration }));
        const exit = await start(server.socketPath, {}, large);
        expect(exit.code).toBe(0);
        expect(exit.stdout === large).toBe(true);
    });

    it("serves many calls at once", async () => {
        await using server = await serveCni((_method, { cniArgs }) => ({
            cniResult: Buffer.from(cniArgs.containerId),
        }));
        const ids = Array.from({ length: 20 }, (_, index) => `container-${index}`);
        const exits = await Promise.all(ids.map((id) => start(server.socketPath, { CNI_CONTAINERID: id })));
        expect(exits.map((exit) => exit.stdout)).toEqual(ids);
    });

    it.each(["ADD", "DEL"])("asks for another %s later when there is no agent", async (command) => {
        const exit = await start("/nonexistent/cni.sock", { CNI_COMMAND: command });
        expect(exit).toMatchObject({ code: 1, stderr: "" });
        expect(JSON.parse(exit.stdout)).toEqual({
            cniVersion: "1.0.0",
            code: 11,
            msg: "the Antrea agent does not answer on this Node yet: there is no socket /nonexistent/cni.sock",
            details: expect.stringContaining("antrea-agent Pod"),
        });
    });

    it("asks for another ADD later when the agent left its socket behind", async () => {
        const { socketPath, remove } = socketFolder();
        const server = await serveAndLeave(socketPath);
        expect(server).toBe(true);
        const exit = await start(socketPath);
        expect(JSON.parse(exit.stdout)).toMatchObject({
            code: 11,
            msg: expect.stringContaining("no process listens on"),
        });
        remove();
    });

    it("reports a STATUS without agent by a code of its own", async () => {
        const exit = await start("/nonexistent/cni.sock", { CNI_COMMAND: "STATUS", CNI_CONTAINERID: "" });
        expect(JSON.parse(exit.stdout)).toMatchObject({ code: 50 });
    });

    describe("STATUS", () => {
        const ask = (socketPath: string): Promise<Exit> =>
            start(socketPath, { CNI_COMMAND: "STATUS", CNI_CONTAINERID: "", CNI_NETNS: "", CNI_IFNAME: "" });

        it("stays good while the agent is replaced, until the last good answer is 60 s old", async () => {
            const { socketPath, remove } = socketFolder();
            const server = await serveCni(() => ({ cniResult: new Uint8Array() }), socketPath);
            expect(JSON.parse((await ask("/nonexistent/cni.sock")).stdout)).toMatchObject({ code: 50 });
            expect(await ask(socketPath)).toEqual({ code: 0, stdout: "", stderr: "" });
            server.kill();
            expect(await ask(socketPath)).toEqual({ code: 0, stdout: "", stderr: "" });
            const file = join(dirname(socketPath), "cni-status");
            const [boot = "", uptime = ""] = readFileSync(file, "utf8").split(" ");
            // As if the answer had come a minute before.
            writeFileSync(file, `${boot} ${(Number(uptime) - 61).toFixed(2)}\n`);
            expect(JSON.parse((await ask(socketPath)).stdout)).toMatchObject({
                code: 50,
                details: expect.stringMatching(/the last good answer was \d+ s ago/),
            });
            writeFileSync(file, "no time");
            expect(JSON.parse((await ask(socketPath)).stdout)).toMatchObject({ code: 50 });
            remove();
        });

        it("is good without grace where nothing can be written", async () => {
            const { socketPath, remove } = socketFolder();
            const server = await serveCni(() => ({ cniResult: new Uint8Array() }), socketPath);
            // root writes anywhere, so the place of the file is taken
            const file = join(dirname(socketPath), "cni-status");
            mkdirSync(join(file, "taken"), { recursive: true });
            chmodSync(file, 0);
            expect(await ask(socketPath)).toEqual({ code: 0, stdout: "", stderr: "" });
            server.kill();
            expect(JSON.parse((await ask(socketPath)).stdout)).toMatchObject({
                code: 50,
                details: expect.stringContaining(`${file} cannot be read`),
            });
            remove();
        });
    });

    it.each(["at once", "after the request", "after a part of the answer"])(
        "survives an agent that dies %s",
        async (when) => {
            const { socketPath, remove } = socketFolder();
            const server = createServer((socket) => {
                socket.on("error", () => undefined);
                if (when === "at once") socket.destroy();
                else if (when === "after the request") socket.on("data", () => socket.destroy());
                else {
                    socket.on("data", () => {
                        // An empty SETTINGS frame and the start of a HEADERS frame.
                        socket.end(Buffer.from("000000040000000000" + "00002001040000000188", "hex"));
                    });
                }
            });
            await new Promise<void>((resolve) => server.listen(socketPath, resolve));
            const exit = await start(socketPath);
            expect(exit).toMatchObject({ code: 1, stderr: "" });
            expect(JSON.parse(exit.stdout)).toMatchObject({
                code: 11,
                msg: expect.stringContaining("agent does not answer"),
            });
            server.close();
            remove();
        },
    );

    it("survives an agent that speaks something else", async () => {
        const { socketPath, remove } = socketFolder();
        const server = createServer((socket) => {
            socket.on("error", () => undefined);
            socket.write("SSH-2.0-OpenSSH_9.2p1\r\n");
        });
        await new Promise<void>((resolve) => server.listen(socketPath, resolve));
        const exit = await start(socketPath);
        expect(exit).toMatchObject({ code: 1, stderr: "" });
        expect(JSON.parse(exit.stdout)).toMatchObject({
            code: 201,
            msg: expect.stringContaining("no valid gRPC answer"),
        });
        server.close();
        remove();
    });

    it("maps a gRPC status", async () => {
        await using server = await serveCni(() => ({ code: 12, details: "not here" }));
        expect(JSON.parse((await start(server.socketPath)).stdout)).toMatchObject({ code: 202 });
    });

    it("answers VERSION without an agent, and bad environments with code 4", async () => {
        const version = await start("/nonexistent", { CNI_COMMAND: "VERSION", CNI_CONTAINERID: "" });
        expect(version).toMatchObject({ code: 0, stdout: expect.stringContaining('"supportedVersions":["0.3.0"') });
        const missing = await start("/nonexistent", { CNI_CONTAINERID: "" });
        expect(missing.code).toBe(1);
        expect(JSON.parse(missing.stdout)).toMatchObject({ code: 4, msg: "CNI_CONTAINERID must be set for ADD" });
    });
});

async function serveAndLeave(socketPath: string): Promise<boolean> {
    // A process that is killed leaves its socket file; this one binds and ends without removing it.
    const program = `
        const net = require("node:net");
        net.createServer().listen(${JSON.stringify(socketPath)}, () => process.kill(process.pid, "SIGKILL"));`;
    await new Promise<void>((resolve) => {
        execFile(process.execPath, ["-e", program], () => {
            resolve();
        });
    });
    return existsSync(socketPath);
}

describe("the bundle", () => {
    // What the binary loads before it can begin: the start time of every Pod pays for it.
    const bundle = (): string => readFileSync(`${dist}antrea-cni.js`, "utf8");

    it("stays small", () => {
        expect(bundle().length).toBeLessThan(32_000);
    });

    it("imports nothing, neither built-ins nor libraries", () => {
        expect(bundle().match(/\b(?:from|import|require)\s*\(?\s*["'][^"']+["']/g)).toBeNull();
        expect(bundle()).not.toMatch(/ip-address|parseNetworkConfig|grpc-js|protobufjs/);
    });
});
