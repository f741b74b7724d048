import { MessageReader } from "./reader.ts";
import { MessageWriter } from "./writer.ts";

/** Encodes a google.protobuf.StringValue (wrappers.proto); "" has no bytes. */
export function encodeStringValue(value: string): Uint8Array {
    const writer = new MessageWriter();
    writer.text(1, value);
    return writer.finish();
}

/** Decodes a google.protobuf.StringValue; without the field it is "". Throws `CniMessageError`. */
export function decodeStringValue(bytes: Uint8Array): string {
    const reader = new MessageReader(bytes, "StringValue");
    let value = "";
    for (let field = reader.next(); field !== undefined; field = reader.next()) {
        if (field === 1) value = reader.text("value");
        else reader.skip();
    }
    return value;
}
