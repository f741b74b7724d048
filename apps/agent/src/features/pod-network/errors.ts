import { AntreaError } from "@antrea/errors";

/** Failures to wire or unwire a Pod interface. */
export class PodNetworkError extends AntreaError<
    | "DELETED_MEANWHILE"
    | "NO_PORT_NUMBER"
    | "OTHER_NETNS"
    | "OTHERS_NETNS"
    | "SECOND_INTERFACE"
    | "CANCELLED"
    | "STILL_REMOVED"
    | "NO_ADDRESS"
    | "TOO_SLOW"
    | "BUSY"
    | "ADDRESS_IN_USE",
    { /** The IDs of the skipped containers; only of `BUSY`. */ readonly containers: readonly string[] }
> {}
