import { type Any } from "./messages.ts";
import { decodeStringValue, encodeStringValue } from "./wire/string-value.ts";

const stringValueUrl = "type.googleapis.com/google.protobuf.StringValue";

/** Text as an element of `CniError.details`: a google.protobuf.StringValue. */
export function textDetail(text: string): Any {
    return { typeUrl: stringValueUrl, value: encodeStringValue(text) };
}

/** The texts of details, one per line; a detail that is no valid StringValue is given as its type URL. */
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
