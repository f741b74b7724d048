import { AntreaError } from "@antrea/errors";

/** A benchmark could not run, or its subject failed. */
export class BenchError extends AntreaError<"NOT_READY" | "CALL_FAILED" | "WRONG_RESULT" | "BAD_ARGUMENT" | "ENDED"> {}
