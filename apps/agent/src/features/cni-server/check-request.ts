import type { Attachment, InterfaceAddress } from "../../platform/pod-interfaces/index.ts";

/** A CHECK of an interface. */
export interface CheckRequest extends Attachment {
    /** Path of the network namespace. */
    readonly netns: string;
    /** The addresses of `prevResult`; undefined without one. */
    readonly previous: readonly Omit<InterfaceAddress, "gateway">[] | undefined;
}
