import { MessageFlag } from "./constants.ts";

/** One change asked of the kernel, without the sequence number it gets when it is sent. */
export interface Request {
    readonly type: number;
    /** MessageFlag bits beside REQUEST and ACK, which every change has. */
    readonly flags: number;
    readonly body: Uint8Array;
    /** What it does and to what, for errors: "delete link a". */
    readonly label: string;
    /** errno names that say "is not there" to a delete, which then did its work. */
    readonly absentCodes?: readonly string[];
}

/** One question to the kernel; `flags` has DUMP for a list. */
export type Query = Omit<Request, "absentCodes">;

export const CREATE: number = MessageFlag.CREATE | MessageFlag.EXCL;
export const CREATE_OR_REPLACE: number = MessageFlag.CREATE | MessageFlag.REPLACE;
/** Beside what is there, after it. */
export const APPEND: number = MessageFlag.CREATE | MessageFlag.APPEND;
