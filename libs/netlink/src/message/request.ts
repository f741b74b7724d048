import { MessageFlag } from "./constants.ts";

/**
 * One change for the kernel, without the sequence number, which is assigned when it is sent. `type` is a `MessageType`.
 */
export interface Request {
    readonly type: number;
    /** MessageFlag bits, without REQUEST and ACK, which every change has. */
    readonly flags: number;
    readonly body: Uint8Array;
    /** Action and object, for errors: "delete link a". */
    readonly label: string;
    /** errno names that mean that the object of a delete does not exist, so that the delete succeeds. */
    readonly absentCodes?: readonly string[];
}

/** One query to the kernel, for `Exchange.ask`, or with DUMP in `flags` for `Exchange.dump`. */
export type Query = Omit<Request, "absentCodes">;

/** Flags of a request that adds an object; the kernel answers `EEXIST` if it exists. */
export const CREATE: number = MessageFlag.CREATE | MessageFlag.EXCL;
/** Flags of a request that adds an object or replaces the existing one. */
export const CREATE_OR_REPLACE: number = MessageFlag.CREATE | MessageFlag.REPLACE;
/** Flags of a request that adds an object after existing ones of the same key, such as a route. */
export const APPEND: number = MessageFlag.CREATE | MessageFlag.APPEND;
