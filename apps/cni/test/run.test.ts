import { describe, expect, it } from "@jest/globals";
import { decodeCniCmdRequest, encodeCniCmdResponse, ErrorCode, textDetail } from "@antrea/cni";
import { protocolError } from "../src/http2/error.ts";
import { type CallOutcome } from "../src/http2/unary-call.ts";
import { run } from "../src/run.ts";

const environment = { CNI_COMMAND: "ADD", CNI_CONTAINERID: "abc", CNI_NETNS: "/n", CNI_IFNAME: "eth0" };
const config = new TextEncoder().encode('{"cniVersion":"0.4.0","name":"antrea","type":"antrea"}');

interface Made {
    readonly path: string;
    readonly message: Uint8Array;
}

async function answerTo(
    outcome: CallOutcome | Error,
    change: Readonly<Record<string, string | undefined>> = {},
    lastGood: { readonly recent: boolean; readonly text: string } = { recent: false, text: "none" },
): Promise<{
    readonly exitCode: number;
    readonly text: string;
    readonly calls: readonly Made[];
    readonly kept: number;
}> {
    const calls: Made[] = [];
    let kept = 0;
    const { exitCode, output } = await run({
        environment: { ...environment, ...change },
        readInput: () => Promise.resolve(config),
        callAgent: async (path, message) => {
            calls.push({ path, message: await message });
            if (outcome instanceof Error) throw outcome;
            return outcome;
        },
        lastGoodStatus: { keep: () => (kept += 1), check: () => lastGood },
    });
    return { exitCode, text: new TextDecoder().decode(output), calls, kept };
}

const success = (text: string): CallOutcome => ({
    kind: "message",
    message: encodeCniCmdResponse({ cniResult: new TextEncoder().encode(text) }),
});
const status = (code: number): CallOutcome => ({ kind: "status", status: code, text: "why" });

describe("run", () => {
    it.each([
        ["ADD", "CmdAdd"],
        ["CHECK", "CmdCheck"],
        ["DEL", "CmdDel"],
        ["GC", "CmdGc"],
        ["STATUS", "CmdStatus"],
    ])("forwards %s as %s and prints the result unchanged", async (command, method) => {
        const result = '{ "odd":\t1 }\n';
        const { exitCode, text, calls } = await answerTo(success(result), { CNI_COMMAND: command, CNI_ARGS: "A=b" });
        expect({ exitCode, text }).toEqual({ exitCode: 0, text: result });
        expect(calls.map((made) => made.path)).toEqual([`/antrea_io.antrea.pkg.apis.cni.v1beta1.Cni/${method}`]);
        expect(decodeCniCmdRequest(calls[0]?.message ?? config)).toEqual({
            cniArgs: {
                containerId: "abc",
                netns: "/n",
                ifname: "eth0",
                args: "A=b",
                path: "",
                networkConfiguration: config,
            },
        });
    });

    it("answers VERSION itself", async () => {
        const { exitCode, text, calls } = await answerTo(success(""), { CNI_COMMAND: "VERSION" });
        expect(exitCode).toBe(0);
        expect(JSON.parse(text)).toEqual({
            cniVersion: "1.1.0",
            supportedVersions: ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"],
        });
        expect(calls).toEqual([]);
    });

    it.each(Object.entries(ErrorCode))(
        "prints error code %s of the agent as a CNI error object",
        async (name, code) => {
            const error = { code, message: `it is ${name}`, details: [textDetail("look there")] };
            const message = encodeCniCmdResponse({ cniResult: new Uint8Array(), error });
            const { exitCode, text } = await answerTo({ kind: "message", message });
            expect(exitCode).toBe(1);
            expect(JSON.parse(text)).toEqual({
                cniVersion: "0.4.0",
                code,
                msg: `it is ${name}`,
                details: "look there",
            });
        },
    );

    it.each([
        ["ADD", 14, 11, "the Antrea agent does not answer on this Node yet: why"],
        ["ADD", 4, 11, "the Antrea agent does not answer on this Node yet: why"],
        ["DEL", 14, 11, "the Antrea agent does not answer on this Node yet: why"],
        ["STATUS", 14, 50, "the Antrea agent does not answer on this Node yet: why"],
        ["GC", 12, 202, "the Antrea agent on this Node does not support the command GC"],
        ["ADD", 13, 201, "the call of the Antrea agent failed with gRPC status 13: why"],
        ["ADD", 99, 201, "the call of the Antrea agent failed with gRPC status 99: why"],
    ])("%s with gRPC status %i is CNI error %i", async (command, grpc, code, msg) => {
        const { exitCode, text } = await answerTo(status(grpc), { CNI_COMMAND: command });
        expect(exitCode).toBe(1);
        expect(JSON.parse(text)).toMatchObject({ cniVersion: "0.4.0", code, msg: expect.stringContaining(msg) });
    });

    describe("STATUS after a good answer", () => {
        const recent = { recent: true, text: "the last good answer was 5 s ago" };
        const old = { recent: false, text: "the last good answer was 75 s ago" };
        const asked = { CNI_COMMAND: "STATUS" };
        const refused = (code: number): CallOutcome => ({
            kind: "message",
            message: encodeCniCmdResponse({
                cniResult: new Uint8Array(),
                error: { code, message: "ovs-vswitchd is not connected", details: [] },
            }),
        });

        it.each<[string, CallOutcome]>([
            ["away", status(14)],
            ["silent", status(4)],
            ["there, and something is missing that may come back", refused(50)],
        ])("stays good for a while when the agent is %s", async (_name, outcome) => {
            expect(await answerTo(outcome, asked, recent)).toMatchObject({ exitCode: 0, text: "", kept: 0 });
            const later = await answerTo(outcome, asked, old);
            expect(later).toMatchObject({ exitCode: 1, kept: 0 });
            expect(JSON.parse(later.text)).toMatchObject({
                code: 50,
                details: expect.stringContaining("60 s after a good answer: the last good answer was 75 s ago"),
            });
        });

        it.each([1, 2, 4, 7, 201, 202, 999])("does not hide error %i, which waiting does not mend", async (code) => {
            const { exitCode, text } = await answerTo(refused(code), asked, recent);
            expect({ exitCode, error: JSON.parse(text) as unknown }).toMatchObject({ exitCode: 1, error: { code } });
        });

        it("is kept for STATUS alone, and only when it is good", async () => {
            expect((await answerTo(success(""), asked)).kept).toBe(1);
            expect((await answerTo(refused(50), asked)).kept).toBe(0);
            for (const command of ["ADD", "CHECK", "DEL", "GC", "VERSION"]) {
                expect((await answerTo(success(""), { CNI_COMMAND: command })).kept).toBe(0);
            }
        });

        it.each(["ADD", "DEL", "CHECK", "GC"])("does not make %s succeed", async (command) => {
            expect(await answerTo(status(14), { CNI_COMMAND: command }, recent)).toMatchObject({ exitCode: 1 });
        });
    });

    it("names what to check when the agent is away", async () => {
        const { text } = await answerTo(status(14));
        expect(JSON.parse(text)).toMatchObject({ details: expect.stringContaining("kubectl -n kube-system logs") });
    });

    it.each([
        ["bytes that are no HTTP/2", protocolError("no HTTP/2"), 201, "no valid gRPC answer: no HTTP/2"],
        ["bytes that are no response", { kind: "message", message: Uint8Array.of(8) } as const, 201, "CniCmdResponse"],
        ["a defect of ours", new TypeError("oops"), 999, "oops"],
    ])("turns %s into an error object", async (_name, outcome, code, text) => {
        const answer = await answerTo(outcome);
        expect(JSON.parse(answer.text)).toMatchObject({ code, msg: expect.stringContaining(text) });
    });

    it("names the variable that is missing, and calls nobody", async () => {
        const { exitCode, text, calls } = await answerTo(success(""), { CNI_NETNS: undefined });
        expect({ exitCode, calls }).toEqual({ exitCode: 1, calls: [] });
        expect(JSON.parse(text)).toEqual({ cniVersion: "1.1.0", code: 4, msg: "CNI_NETNS must be set for ADD" });
    });

    it("reports it when standard input cannot be read", async () => {
        const answer = await run({
            environment,
            readInput: () => Promise.reject(new Error("EIO")),
            callAgent: async (_path, message) => {
                await message;
                return success("");
            },
            lastGoodStatus: { keep: () => undefined, check: () => ({ recent: false, text: "none" }) },
        });
        expect(JSON.parse(new TextDecoder().decode(answer.output))).toMatchObject({ code: 5 });
    });
});
