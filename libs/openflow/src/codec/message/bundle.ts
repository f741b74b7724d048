import { isErrorOf } from "@antrea/errors";
import { OpenFlowError } from "../errors.ts";
import { type FlowMod } from "../flow.ts";
import { type GroupMod } from "../group.ts";
import { beginMessage, endLongMessage, endMessage, MessageType } from "../wire/header.ts";
import { type Reader } from "../wire/reader.ts";
import { type Writer } from "../wire/writer.ts";
import { writeFlowMod } from "./flow-mod.ts";
import { writeGroupMod } from "./group-mod.ts";
import { splitGroupMod } from "./split-group.ts";

/** Bundle control types (OFPBCT_*): OpenFlow 1.5 section 7.3.9.1. */
export const BundleControl = {
    OPEN_REQUEST: 0,
    OPEN_REPLY: 1,
    CLOSE_REQUEST: 2,
    CLOSE_REPLY: 3,
    COMMIT_REQUEST: 4,
    COMMIT_REPLY: 5,
    DISCARD_REQUEST: 6,
    DISCARD_REPLY: 7,
} as const;

/**
 * Bundle flags (OFPBF_*, OpenFlow 1.5 section 7.3.9), the same in all messages of one bundle. ATOMIC: all messages are
 * applied or none. ORDERED: they are applied in the order sent.
 */
export const BundleFlag = { ATOMIC: 1, ORDERED: 2 } as const;

/** `ofp_bundle_ctrl_msg` without properties (OpenFlow 1.5 section 7.3.9.1); `flags` has bits of `BundleFlag`. */
export interface BundleControlMessage {
    readonly bundleId: number;
    /** One of `BundleControl`. */
    readonly control: number;
    readonly flags: number;
}

/** Writes `ofp_bundle_ctrl_msg` with its header: OpenFlow 1.5 section 7.3.9.1. The numbers are not checked. */
export function writeBundleControl(writer: Writer, xid: number, message: BundleControlMessage): void {
    const start = beginMessage(writer, MessageType.BUNDLE_CONTROL, xid);
    writer.u32(message.bundleId);
    writer.u16(message.control);
    writer.u16(message.flags);
    endMessage(writer, start);
}

/** A change that a bundle can hold; one of a group has the member `group`. */
export type BundleMod = FlowMod | GroupMod;

/** The bytes that a message in a bundle has at most: it is inside another one. */
const maxInsideBytes = 0xffff - 16;

/**
 * Writes a change inside a bundle; both messages have the same xid, as OpenFlow 1.5 section 7.3.9.6 requires. A group
 * that one message cannot hold takes several of this xid. Throws as `writeFlowMod`, `writeGroupMod` and
 * `splitGroupMod` do.
 */
export function writeBundleAdd(
    writer: Writer,
    xid: number,
    bundle: Pick<BundleControlMessage, "bundleId" | "flags">,
    mod: BundleMod,
): void {
    const start = writer.length;
    try {
        writeOne(writer, xid, bundle, mod);
    } catch (error) {
        if (!("group" in mod) || !isErrorOf(OpenFlowError, error, "TOO_BIG")) throw error;
        writer.truncate(start);
        for (const part of splitGroupMod(mod, maxInsideBytes)) writeOne(writer, xid, bundle, part);
    }
}

function writeOne(
    writer: Writer,
    xid: number,
    { bundleId, flags }: Pick<BundleControlMessage, "bundleId" | "flags">,
    mod: BundleMod,
): void {
    const start = beginMessage(writer, MessageType.BUNDLE_ADD, xid);
    writer.u32(bundleId);
    writer.zeros(2);
    writer.u16(flags);
    if ("group" in mod) writeGroupMod(writer, xid, mod);
    else writeFlowMod(writer, xid, mod);
    endLongMessage(writer, start, "the change in its bundle");
}

/** Reads the body of a bundle control message and leaves its properties unread. Throws `OpenFlowError` `SHORT`. */
export function readBundleControl(reader: Reader): BundleControlMessage {
    return { bundleId: reader.u32(), control: reader.u16(), flags: reader.u16() };
}
