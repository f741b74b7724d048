import { type CniCmdArgs, type CniCmdRequest } from "../messages.ts";
import { MessageReader } from "./reader.ts";
import { MessageWriter } from "./writer.ts";

/** Encodes a request in protobuf, without fields that have their proto3 default; a new array. Does not check it. */
export function encodeCniCmdRequest(request: CniCmdRequest): Uint8Array {
    const args = new MessageWriter();
    args.text(1, request.cniArgs.containerId);
    args.text(2, request.cniArgs.netns);
    args.text(3, request.cniArgs.ifname);
    args.text(4, request.cniArgs.args);
    args.text(5, request.cniArgs.path);
    args.bytes(6, request.cniArgs.networkConfiguration);
    const writer = new MessageWriter();
    writer.message(1, args.finish());
    return writer.finish();
}

/**
 * Decodes a request; unknown fields are skipped, absent ones have their default. `networkConfiguration` is a view of
 * `bytes`. Throws `CniMessageError`.
 */
export function decodeCniCmdRequest(bytes: Uint8Array): CniCmdRequest {
    const reader = new MessageReader(bytes, "CniCmdRequest");
    let cniArgs: CniCmdArgs = {
        containerId: "",
        netns: "",
        ifname: "",
        args: "",
        path: "",
        networkConfiguration: new Uint8Array(),
    };
    for (let field = reader.next(); field !== undefined; field = reader.next()) {
        // The protobuf encoding merges a repeated message field.
        if (field === 1) cniArgs = { ...cniArgs, ...decodeCniCmdArgs(reader.bytes("cni_args")) };
        else reader.skip();
    }
    return { cniArgs };
}

function decodeCniCmdArgs(bytes: Uint8Array): Partial<CniCmdArgs> {
    const reader = new MessageReader(bytes, "CniCmdArgs");
    const args: { -readonly [Field in keyof CniCmdArgs]?: CniCmdArgs[Field] } = {};
    for (let field = reader.next(); field !== undefined; field = reader.next()) {
        switch (field) {
            case 1:
                args.containerId = reader.text("container_id");
                break;
            case 2:
                args.netns = reader.text("netns");
                break;
            case 3:
                args.ifname = reader.text("ifname");
                break;
            case 4:
                args.args = reader.text("args");
                break;
            case 5:
                args.path = reader.text("path");
                break;
            case 6:
                args.networkConfiguration = reader.bytes("network_configuration");
                break;
            default:
                reader.skip();
        }
    }
    return args;
}
