import { Attributes } from "./attributes.ts";
import { AddressFamily, MessageType, NetnsAttribute } from "./constants.ts";
import { Reader } from "./reader.ts";
import { type Query } from "./request.ts";
import { Writer } from "./writer.ts";

/**
 * The query, for `Exchange.ask`, for the id that the namespace of the socket has for the one of the descriptor
 * `netnsFd`, which must stay open until the message is sent. The kernel answers `EINVAL` for another file. `netnsPath`
 * is for errors.
 */
export function queryNetnsId(netnsPath: string, netnsFd: number): Query {
    const body = new Writer()
        .u32(AddressFamily.UNSPEC) // struct rtgenmsg: family; padding
        .attributeU32(NetnsAttribute.FD, netnsFd);
    return {
        type: MessageType.GETNSID,
        flags: 0,
        body: body.finish(),
        label: `get the id of network namespace ${netnsPath}`,
    };
}

/**
 * Reads the payload of RTM_NEWNSID: struct rtgenmsg and NETNSA_*. Undefined if no id is assigned
 * (NETNSA_NSID_NOT_ASSIGNED). Throws `NetlinkError` `SHORT_MESSAGE`, `BAD_MESSAGE`.
 */
export function decodeNetnsId(payload: Uint8Array): number | undefined {
    const reader = new Reader(payload, "namespace id");
    reader.skip(4); // family, padding
    const id = new Attributes(reader.rest(), "namespace id").i32(NetnsAttribute.NSID);
    return id === undefined || id < 0 ? undefined : id;
}
