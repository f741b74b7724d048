import { mkdtempSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { encodeCniCmdRequest } from "@antrea/cni";
import { CniCalls, CniServer } from "@antrea/agent/features/cni-server";
import { FakeBackend } from "@antrea/agent/testing/cni-backend";
import { concat, encodeFrame, Flag, FrameType } from "@antrea/antrea-cni/http2/frame";
import { prefixed } from "@antrea/antrea-cni/http2/message-body";
import { UnaryCall } from "@antrea/antrea-cni/http2/unary-call";
import { scratchFolder, silentLogger } from "../fixture.ts";
import { BrokenProperty, type Target } from "../target.ts";

const path = "/antrea_io.antrea.pkg.apis.cni.v1beta1.Cni/CmdStatus";
const networkConfiguration = new TextEncoder().encode('{"cniVersion":"1.1.0","name":"antrea","type":"antrea"}');
const message = encodeCniCmdRequest({
    cniArgs: { containerId: "a", netns: "/n", ifname: "eth0", args: "", path: "", networkConfiguration },
});
const quietMs = 3;
const answerMs = 1_500;

/** Arbitrary bytes on the agent's socket: the server keeps running and answers the next call. */
export const target: Target = {
    bytesPerByte: 65_536,
    seeds: () => {
        const call = new UnaryCall({ path, message });
        const start = call.start();
        return [
            start,
            concat([start, encodeFrame(FrameType.SETTINGS, Flag.ACK, 0, new Uint8Array())]),
            concat([
                start,
                encodeFrame(FrameType.PING, 0, 0, new Uint8Array(8)),
                encodeFrame(FrameType.RST_STREAM, 0, 1, Uint8Array.of(0, 0, 0, 8)),
            ]),
            concat([start, encodeFrame(FrameType.DATA, Flag.END_STREAM, 1, prefixed(message))]),
            new UnaryCall({ path: "/no/such", message }).start(),
            new TextEncoder().encode("GET / HTTP/1.1\r\nhost: a\r\n\r\n"),
        ];
    },
    tokens: [
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "CmdAdd",
        "CmdDel",
        "CmdCheck",
        "CmdGc",
        "application/grpc",
        "grpc-timeout",
        "1n",
    ],
    run: async (input) => {
        const socketPath = await (listening ??= listen());
        // The fake keeps the requests.
        for (const asked of [backend.adds, backend.checks, backend.collects]) asked.length = 0;
        backend.wired.clear();
        await say(socketPath, input);
        await ask(socketPath);
    },
    isRefusal: () => false,
};

const backend = new FakeBackend();
let listening: Promise<string> | undefined;

async function listen(): Promise<string> {
    const socketPath = join(mkdtempSync(join(scratchFolder(), "cni-")), "cni.sock");
    const calls = new CniCalls({
        backend,
        logger: silentLogger,
        observe: () => undefined,
        now: () => performance.now(),
    });
    await new CniServer({ calls }, { socketPath }).start();
    return socketPath;
}

/** Sends the input and disconnects after the server has had time to answer. */
function say(socketPath: string, input: Uint8Array): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const socket = connect(socketPath, () => socket.end(input));
    const quiet = setTimeout(() => socket.destroy(), quietMs);
    socket.on("error", () => undefined);
    socket.on("data", () => quiet.refresh());
    socket.on("close", () => {
        clearTimeout(quiet);
        resolve();
    });
    return promise;
}

/** A valid call is answered afterwards. */
function ask(socketPath: string): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const call = new UnaryCall({ path, message });
    const socket = connect(socketPath, () => socket.write(call.start()));
    const late = setTimeout(() => reject(new BrokenProperty("the next caller got no answer")), answerMs);
    socket.on("error", reject);
    socket.on("close", () => clearTimeout(late));
    socket.on("data", (chunk) => {
        socket.write(call.receive(chunk));
        if (call.outcome === undefined) return;
        socket.destroy();
        if (call.outcome.kind === "message") resolve();
        else reject(new BrokenProperty(`the next caller got status ${call.outcome.status}: ${call.outcome.text}`));
    });
    return promise;
}
