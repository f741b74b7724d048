import { encodeCniCmdResponse } from "@antrea/cni";
import { Http2Error } from "@antrea/antrea-cni/http2/error";
import { concat, encodeFrame, Flag, FrameType } from "@antrea/antrea-cni/http2/frame";
import { HeaderWriter } from "@antrea/antrea-cni/http2/header-writer";
import { prefixed } from "@antrea/antrea-cni/http2/message-body";
import { UnaryCall } from "@antrea/antrea-cni/http2/unary-call";
import { run } from "@antrea/antrea-cni/run";
import { chunks, fromHex, json } from "../fixture.ts";
import { BrokenProperty, mustEqual, type Target } from "../target.ts";

const maxAnswerBytes = 1_000;
const environment = {
    CNI_COMMAND: "ADD",
    CNI_CONTAINERID: "a1",
    CNI_NETNS: "/n",
    CNI_IFNAME: "eth0",
    CNI_ARGS: "",
    CNI_PATH: "",
};
const settings = encodeFrame(FrameType.SETTINGS, 0, 0, fromHex("000300000064" + "000400ffffff" + "000500004000"));

function headers(fields: Readonly<Record<string, string>>, flags: number): Uint8Array {
    const writer = new HeaderWriter();
    for (const [name, value] of Object.entries(fields)) writer.literal(name, value);
    return encodeFrame(FrameType.HEADERS, flags, 1, writer.finish());
}

function answer(message: Uint8Array, trailers: Readonly<Record<string, string>>): Uint8Array {
    return concat([
        settings,
        encodeFrame(FrameType.SETTINGS, Flag.ACK, 0, new Uint8Array()),
        encodeFrame(FrameType.WINDOW_UPDATE, 0, 0, Uint8Array.of(0, 1, 0, 0)),
        headers({ ":status": "200", "content-type": "application/grpc" }, Flag.END_HEADERS),
        encodeFrame(FrameType.DATA, 0, 1, prefixed(message)),
        headers(trailers, Flag.END_HEADERS | Flag.END_STREAM),
    ]);
}

/** Arbitrary data from the agent's socket to the shim: HTTP/2 frames, HPACK, gRPC, the answer in protobuf. */
export const target: Target = {
    seeds: () => [
        answer(encodeCniCmdResponse({ cniResult: new TextEncoder().encode(json({ cniVersion: "1.1.0" })) }), {
            "grpc-status": "0",
        }),
        answer(
            encodeCniCmdResponse({
                cniResult: new Uint8Array(),
                error: {
                    code: 11,
                    message: "later",
                    details: [{ typeUrl: "type.googleapis.com/google.protobuf.StringValue", value: fromHex("0a0178") }],
                },
            }),
            { "grpc-status": "0" },
        ),
        concat([settings, headers({ ":status": "200", "grpc-status": "14", "grpc-message": "gone%20away" }, 5)]),
        concat([settings, encodeFrame(FrameType.RST_STREAM, 0, 1, Uint8Array.of(0, 0, 0, 8))]),
        concat([
            settings,
            encodeFrame(FrameType.GOAWAY, 0, 0, new Uint8Array(8)),
            encodeFrame(FrameType.PING, 0, 0, new Uint8Array(8)),
        ]),
        // Indexed headers, an entry of the dynamic table, Huffman coding: RFC 7541 appendix C.6.1.
        concat([
            settings,
            encodeFrame(
                FrameType.HEADERS,
                Flag.END_HEADERS,
                1,
                fromHex(
                    "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3",
                ),
            ),
        ]),
        concat([
            settings,
            encodeFrame(FrameType.HEADERS, 0, 1, fromHex("88")),
            encodeFrame(FrameType.CONTINUATION, Flag.END_HEADERS, 1, fromHex("89")),
        ]),
    ],
    tokens: ["grpc-status", "grpc-message", ":status", "application/grpc", "content-type", "%41"],
    run: async (input) => {
        const whole = verdict([input]);
        mustEqual("what is reported in one piece and in many", verdict(chunks(input)), whole);
        const { output } = await run({
            environment,
            readInput: () => Promise.resolve(new TextEncoder().encode(json({ cniVersion: "1.1.0" }))),
            callAgent: async (path, message) => {
                const call = new UnaryCall({ path, message: await message, maxAnswerBytes });
                call.start();
                call.receive(input);
                call.closed();
                if (call.outcome === undefined) throw new BrokenProperty("a call that was closed has no outcome");
                return call.outcome;
            },
            lastGoodStatus: { keep: () => undefined, check: () => ({ recent: false, text: "none" }) },
        });
        if (output.length > 20 * (maxAnswerBytes + input.length))
            throw new BrokenProperty(`${output.length} bytes of output`);
    },
    isRefusal: () => false,
};

function verdict(parts: Iterable<Uint8Array>): unknown {
    const call = new UnaryCall({ path: "/a/b", message: new Uint8Array(70_000), maxAnswerBytes });
    call.start();
    try {
        for (const part of parts) call.receive(part);
    } catch (error) {
        if (error instanceof Http2Error && error.fault === "remote") return error.code;
        throw error;
    }
    return call.outcome;
}
