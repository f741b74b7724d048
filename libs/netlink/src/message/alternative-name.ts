import { badArgument } from "../errors.ts";
import { LinkAttribute, MessageFlag, MessageType, NESTED } from "./constants.ts";
import { ifinfomsg } from "./ifinfomsg.ts";
import { linkIndex } from "./link-checks.ts";
import { CREATE, type Request } from "./request.ts";
import { Writer } from "./writer.ts";

/** The most bytes of an alternative name (ALTIFNAMSIZ - 1). */
export const MAX_ALTERNATIVE_NAME_BYTES = 127;

/**
 * The request that adds an alternative name of 1 to 127 bytes; the kernel answers `EEXIST` if a link has it. Throws
 * `NetlinkError` `BAD_ARGUMENT` for a name of another length, or an index that is not valid.
 */
export function addAltName(index: number, name: string): Request {
    return {
        type: MessageType.NEWLINKPROP,
        flags: CREATE | MessageFlag.APPEND,
        body: properties(index, name),
        label: `add alternative name ${name} to link ${index}`,
    };
}

/**
 * The request that removes an alternative name of a link; the absence of either is no failure, but the kernel answers
 * `EINVAL` if another link has it. Throws as `addAltName`.
 */
export function deleteAltName(index: number, name: string): Request {
    return {
        type: MessageType.DELLINKPROP,
        flags: 0,
        body: properties(index, name),
        label: `delete alternative name ${name} of link ${index}`,
        absentCodes: ["ENOENT", "ENODEV"],
    };
}

function properties(index: number, name: string): Uint8Array {
    const length = new TextEncoder().encode(name).length;
    if (length === 0 || length > MAX_ALTERNATIVE_NAME_BYTES) {
        throw badArgument("alternative name of a link", name, `1 to ${MAX_ALTERNATIVE_NAME_BYTES} bytes allowed`);
    }
    const body = ifinfomsg(new Writer(), { index: linkIndex(index) });
    body.nest(LinkAttribute.PROP_LIST | NESTED, () => body.attributeText(LinkAttribute.ALT_IFNAME, name));
    return body.finish();
}
