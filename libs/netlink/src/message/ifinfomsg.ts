import { type LinkChanges } from "../types/link.ts";
import { AddressFamily, LinkFlag } from "./constants.ts";
import { type Writer } from "./writer.ts";

/** The flags of a link that requests can set; without a member its flag is left as it is. */
export type SettableFlags = Pick<LinkChanges, "up" | "promiscuous">;

/** Writes struct ifinfomsg, with index 0 by default, and returns the writer. */
export function ifinfomsg(writer: Writer, fields: { readonly index?: number } & SettableFlags): Writer {
    const bit = (value: boolean | undefined, flag: number): readonly [number, number] =>
        value === undefined ? [0, 0] : [value ? flag : 0, flag];
    const [up, changeUp] = bit(fields.up, LinkFlag.UP);
    const [promiscuous, changePromiscuous] = bit(fields.promiscuous, LinkFlag.PROMISCUOUS);
    return writer
        .u32(AddressFamily.UNSPEC) // family, padding, type
        .u32(fields.index ?? 0)
        .u32(up | promiscuous)
        .u32(changeUp | changePromiscuous);
}
