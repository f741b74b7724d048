import { AntreaError } from "@antrea/errors";

/** `BUSY`: others changed a claim each time that it was to be written; it is tried again later. */
export class ClaimWriterError extends AntreaError<"BUSY"> {}
