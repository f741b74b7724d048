import { AntreaError } from "@antrea/errors";

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
    { /** The ids of the containers that were left out; of `BUSY`. */ readonly containers: readonly string[] }
> {}
