import { IpError } from "@antrea/ip";
import { type JsonReader } from "./json-object.ts";

/**
 * The result of a parser of @antrea/ip; an `IpError` becomes the error of the key whose value it parses. Not a method of the
 * reader, which antrea-cni has too: that program is small, and parses no addresses.
 */
export function parsed<Value>(reader: JsonReader, key: string, parse: () => Value): Value {
    try {
        return parse();
    } catch (error) {
        if (!(error instanceof IpError)) throw error;
        throw reader.invalid(key, `is refused: ${error.message}`);
    }
}
