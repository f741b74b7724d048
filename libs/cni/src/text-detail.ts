import { type Any } from "./messages.ts";
import { decodeStringValue, encodeStringValue } from "./wire/string-value.ts";

const stringValueUrl = "type.googleapis.com/google.protobuf.StringValue";

/** Text as an element of `CniError.details`: a google.protobuf.StringValue, which every protobuf runtime can read. */
export function textDetail(text: string): Any {
    return { typeUrl: stringValueUrl, value: encodeStringValue(text) };
}

/** The texts among the details, one a line; details of other types have no text form and are named by their type. */
export function detailText(details: readonly Any[]): string {
    return details
        .map((detail) => {
            if (detail.typeUrl !== stringValueUrl) return detail.typeUrl;
            try {
                return decodeStringValue(detail.value);
            } catch {
                return detail.typeUrl;
            }
        })
        .filter((text) => text !== "")
        .join("\n");
}
