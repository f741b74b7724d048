import { type Any, type CniCmdResponse, type CniError } from "../messages.ts";
import { MessageReader } from "./reader.ts";
import { MessageWriter } from "./writer.ts";

/** Encodes a response in protobuf, without fields that have their proto3 default; a new array. Does not check it. */
export function encodeCniCmdResponse(response: CniCmdResponse): Uint8Array {
    const writer = new MessageWriter();
    writer.bytes(1, response.cniResult);
    if (response.error !== undefined) writer.message(2, encodeCniError(response.error));
    return writer.finish();
}

function encodeCniError(error: CniError): Uint8Array {
    const writer = new MessageWriter();
    writer.int32(1, error.code);
    writer.text(2, error.message);
    for (const detail of error.details) {
        const any = new MessageWriter();
        any.text(1, detail.typeUrl);
        any.bytes(2, detail.value);
        writer.message(3, any.finish());
    }
    return writer.finish();
}

/**
 * Decodes a response; unknown fields are skipped, absent ones have their default. `cniResult` and the values of details
 * are views of `bytes`. Throws `CniMessageError`.
 */
export function decodeCniCmdResponse(bytes: Uint8Array): CniCmdResponse {
    const reader = new MessageReader(bytes, "CniCmdResponse");
    let cniResult = new Uint8Array() as Uint8Array;
    let error: CniError | undefined;
    for (let field = reader.next(); field !== undefined; field = reader.next()) {
        if (field === 1) cniResult = reader.bytes("cni_result");
        else if (field === 2) error = decodeCniError(reader.bytes("error"), error);
        else reader.skip();
    }
    return error === undefined ? { cniResult } : { cniResult, error };
}

/** `before` is an earlier occurrence of the field: the protobuf encoding merges the two. */
function decodeCniError(bytes: Uint8Array, before: CniError | undefined): CniError {
    const reader = new MessageReader(bytes, "Error");
    let code = before?.code ?? 0;
    let message = before?.message ?? "";
    const details = [...(before?.details ?? [])];
    for (let field = reader.next(); field !== undefined; field = reader.next()) {
        if (field === 1) code = reader.int32("code");
        else if (field === 2) message = reader.text("message");
        else if (field === 3) details.push(decodeAny(reader.bytes("details")));
        else reader.skip();
    }
    return { code, message, details };
}

function decodeAny(bytes: Uint8Array): Any {
    const reader = new MessageReader(bytes, "Any");
    let typeUrl = "";
    let value = new Uint8Array() as Uint8Array;
    for (let field = reader.next(); field !== undefined; field = reader.next()) {
        if (field === 1) typeUrl = reader.text("type_url");
        else if (field === 2) value = reader.bytes("value");
        else reader.skip();
    }
    return { typeUrl, value };
}
