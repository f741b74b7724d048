import { AntreaError } from "@antrea/errors";

/**
 * `ALLOCATION_NOT_KNOWN`: the address has an allocation that the watch has not delivered yet; the reconciler retries.
 */
export class NodeAddressesError extends AntreaError<"ALLOCATION_NOT_KNOWN"> {}
