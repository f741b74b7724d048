import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import protobuf from "protobufjs";
import {
    decodeCniCmdRequest,
    decodeCniCmdResponse,
    encodeCniCmdRequest,
    encodeCniCmdResponse,
    ErrorCode,
} from "../../src/index.ts";

// The service's messages in another implementation: names and numbers are Antrea's, the encoder is protobufjs.
const antreaCodes = {
    UNKNOWN: 0,
    INCOMPATIBLE_CNI_VERSION: 1,
    UNSUPPORTED_FIELD: 2,
    UNKNOWN_CONTAINER: 3,
    INVALID_ENVIRONMENT_VARIABLES: 4,
    IO_FAILURE: 5,
    DECODING_FAILURE: 6,
    INVALID_NETWORK_CONFIG: 7,
    TRY_AGAIN_LATER: 11,
    IPAM_FAILURE: 101,
    CONFIG_INTERFACE_FAILURE: 102,
    CHECK_INTERFACE_FAILURE: 103,
    UNKNOWN_RPC_ERROR: 201,
    INCOMPATIBLE_API_VERSION: 202,
} as const;

const root = new protobuf.Root();
protobuf.parse(
    `syntax = "proto3"; package google.protobuf; message Any { string type_url = 1; bytes value = 2; }`,
    root,
    { keepCase: true },
);
protobuf.parse(
    `syntax = "proto3";
    package antrea_io.antrea.pkg.apis.cni.v1beta1;
    message CniCmdArgs {
        string container_id = 1; string netns = 2; string ifname = 3; string args = 4; string path = 5;
        bytes network_configuration = 6;
    }
    message CniCmdRequest { CniCmdArgs cni_args = 1; }
    enum ErrorCode { ${Object.entries(antreaCodes)
        .map(([name, code]) => `${name} = ${code};`)
        .join(" ")} }
    message Error { ErrorCode code = 1; string message = 2; repeated google.protobuf.Any details = 3; }
    message CniCmdResponse { bytes cni_result = 1; Error error = 2; }`,
    root,
    { keepCase: true },
);
const [Request, Response] = ["CniCmdRequest", "CniCmdResponse"].map((name) =>
    root.lookupType(`antrea_io.antrea.pkg.apis.cni.v1beta1.${name}`),
) as [protobuf.Type, protobuf.Type];

const bytesOf = (value: unknown): Uint8Array => Uint8Array.from(value as Uint8Array);
const text = fc.string({ unit: "grapheme", maxLength: 200 });
const bytes = fc.uint8Array({ maxLength: 300 });
const argsArbitrary = fc.record({
    containerId: text,
    netns: text,
    ifname: text,
    args: text,
    path: text,
    networkConfiguration: bytes,
});
const responseArbitrary = fc.record(
    {
        cniResult: bytes,
        error: fc.record({
            code: fc.oneof(fc.constantFrom(...Object.values(ErrorCode)), fc.integer()),
            message: text,
            details: fc.array(fc.record({ typeUrl: text, value: bytes }), { maxLength: 3 }),
        }),
    },
    { requiredKeys: ["cniResult"] },
);

type Args = Parameters<typeof encodeCniCmdRequest>[0]["cniArgs"];
const theirArgs = (args: Args): Record<string, unknown> => ({
    container_id: args.containerId,
    netns: args.netns,
    ifname: args.ifname,
    args: args.args,
    path: args.path,
    network_configuration: args.networkConfiguration,
});

type AnyResponse = Parameters<typeof encodeCniCmdResponse>[0];
const theirResponse = (response: AnyResponse): Record<string, unknown> => ({
    cni_result: response.cniResult,
    ...(response.error === undefined
        ? {}
        : {
              error: {
                  code: response.error.code,
                  message: response.error.message,
                  details: response.error.details.map(({ typeUrl, value }) => ({ type_url: typeUrl, value })),
              },
          }),
});

function ourResponse(message: protobuf.Message): AnyResponse {
    const fields = Response.toObject(message, { defaults: true }) as {
        cni_result: unknown;
        error: { code: number; message: string; details: { type_url: string; value: unknown }[] } | null;
    };
    const cniResult = bytesOf(fields.cni_result);
    if (fields.error === null) return { cniResult };
    const details = fields.error.details.map((any) => ({ typeUrl: any.type_url, value: bytesOf(any.value) }));
    return { cniResult, error: { code: fields.error.code, message: fields.error.message, details } };
}

describe("the messages of the CNI service against protobufjs", () => {
    it("reads requests that it wrote, and writes the same bytes", () => {
        fc.assert(
            fc.property(argsArbitrary, (cniArgs) => {
                const theirs = bytesOf(Request.encode(Request.create({ cni_args: theirArgs(cniArgs) })).finish());
                expect(decodeCniCmdRequest(theirs)).toEqual({ cniArgs });
                const decoded = Request.toObject(Request.decode(encodeCniCmdRequest({ cniArgs })), { defaults: true });
                const { network_configuration: configuration, ...texts } = decoded["cni_args"] as Args &
                    Record<string, unknown>;
                const { network_configuration: _, ...expected } = theirArgs(cniArgs);
                expect(texts).toEqual(expected);
                expect(bytesOf(configuration)).toEqual(cniArgs.networkConfiguration);
            }),
        );
    });

    it("exchanges responses both ways", () => {
        fc.assert(
            fc.property(responseArbitrary, (response) => {
                const theirs = bytesOf(Response.encode(Response.create(theirResponse(response))).finish());
                expect(decodeCniCmdResponse(theirs)).toEqual(response);
                expect(ourResponse(Response.decode(encodeCniCmdResponse(response)))).toEqual(response);
            }),
        );
    });

    it.each(Object.entries(antreaCodes))("exchanges error code %s = %i both ways", (name, code) => {
        expect(ErrorCode[name as keyof typeof antreaCodes]).toBe(code);
        const response = { cniResult: new Uint8Array(), error: { code, message: name, details: [] } };
        const theirs = Response.encode(Response.fromObject({ error: { code: name, message: name } })).finish();
        expect(decodeCniCmdResponse(bytesOf(theirs))).toEqual(response);
        const object = Response.toObject(Response.decode(encodeCniCmdResponse(response)), {
            defaults: true,
            enums: String,
        });
        expect(object["error"]).toEqual({ code: name, message: name, details: [] });
    });

    it("writes the very bytes that protobufjs writes, defaults left out", () => {
        const cniArgs = { ...emptyArgs, containerId: "abc", networkConfiguration: Uint8Array.of(1, 2) };
        const theirs = Request.encode(
            Request.create({ cni_args: { container_id: "abc", network_configuration: Uint8Array.of(1, 2) } }),
        ).finish();
        expect(encodeCniCmdRequest({ cniArgs })).toEqual(bytesOf(theirs));
    });
});

const emptyArgs: Args = {
    containerId: "",
    netns: "",
    ifname: "",
    args: "",
    path: "",
    networkConfiguration: new Uint8Array(),
};
