import { AntreaError } from "@antrea/errors";

/** The fuzzer cannot go on: a worker failed (`WORKER_FAILED`), or its input was not captured (`NOT_CAPTURED`). */
export class FuzzError extends AntreaError<"WORKER_FAILED" | "NOT_CAPTURED"> {}
