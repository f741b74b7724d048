import { AntreaError } from "@antrea/errors";

/** A benchmark could not be made, or what it measures did not do its work. */
export class BenchError extends AntreaError<"NOT_READY" | "CALL_FAILED" | "WRONG_RESULT" | "BAD_ARGUMENT" | "ENDED"> {}
