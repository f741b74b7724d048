import { describe, expect, it } from "@jest/globals";
import {
    CniCallError,
    checkCommandVersion,
    cniServiceDefinition,
    ErrorCode,
    supportedVersions,
    textDetail,
    toCniError,
    toErrorObject,
    versionAnswer,
    type CniCommand,
    type CniVersion,
} from "../src/index.ts";

describe("errors of a call", () => {
    it("keeps code, causes and hint on the way to the error object", () => {
        const cause = new Error("pool is empty");
        const error = new CniCallError("IPAM_FAILURE", "environment", "no address", {
            cause,
            hint: "look at the pool",
        });
        const wire = toCniError(error);
        expect(toErrorObject(wire, "0.4.0")).toEqual({
            cniVersion: "0.4.0",
            code: 101,
            msg: "no address: pool is empty",
            details: "look at the pool",
        });
    });

    it("makes a defect of what it does not know", () => {
        expect(toCniError(new TypeError("x is undefined"))).toEqual({
            code: ErrorCode.INTERNAL,
            message: "x is undefined",
            details: [],
        });
        expect(toCniError("text")).toMatchObject({ code: 999, message: "text" });
    });

    it("keeps the number of a code that a newer agent sends", () => {
        expect(toErrorObject({ code: 150, message: "m", details: [] }, "1.1.0")).toMatchObject({ code: 150, msg: "m" });
    });

    it("shows details that are no text by their type, and broken ones too", () => {
        const details = [
            textDetail("first"),
            { typeUrl: "type.googleapis.com/google.rpc.ErrorInfo", value: Uint8Array.of(1) },
            { ...textDetail(""), value: Uint8Array.of(0x0a, 9) },
        ];
        expect(toErrorObject({ code: 5, message: "m", details }, "1.1.0").details).toBe(
            "first\ntype.googleapis.com/google.rpc.ErrorInfo\ntype.googleapis.com/google.protobuf.StringValue",
        );
    });
});

describe("versions", () => {
    it.each<[CniCommand, CniVersion]>([
        ["CHECK", "0.3.1"],
        ["GC", "1.0.0"],
        ["STATUS", "1.0.0"],
    ])("%s does not exist in %s", (command, version) => {
        expect(() => {
            checkCommandVersion(command, version);
        }).toThrow(`does not have the command ${command}`);
        checkCommandVersion(command, "1.1.0");
        checkCommandVersion("ADD", version);
    });

    it("answers VERSION", () => {
        expect(versionAnswer()).toEqual({ cniVersion: "1.1.0", supportedVersions });
    });
});

describe("the service", () => {
    it("has the paths of Antrea's CNI service, and two more", () => {
        const service = "/antrea_io.antrea.pkg.apis.cni.v1beta1.Cni";
        expect(Object.values(cniServiceDefinition).map((method) => method.path)).toEqual([
            `${service}/CmdAdd`,
            `${service}/CmdCheck`,
            `${service}/CmdDel`,
            `${service}/CmdStatus`,
            `${service}/CmdGc`,
        ]);
    });
});
