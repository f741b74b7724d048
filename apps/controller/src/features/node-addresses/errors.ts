import { AntreaError } from "@antrea/errors";

/** `ALLOCATION_NOT_KNOWN`: the address has an allocation that the watch has not delivered yet; retried. */
export class NodeAddressesError extends AntreaError<"ALLOCATION_NOT_KNOWN"> {}
