import { AntreaError } from "@antrea/errors";

/** `BUSY`: concurrent changes prevented every write of an allocation; the caller retries later. */
export class AllocationWriterError extends AntreaError<"BUSY"> {}
