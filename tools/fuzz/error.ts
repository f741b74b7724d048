import { AntreaError } from "@antrea/errors";

/** The fuzzer cannot go on: it has no room for the probes of the code (`TOO_MANY_BRANCHES`), a worker failed (`WORKER_FAILED`), or its input was not captured (`NOT_CAPTURED`). */
export class FuzzError extends AntreaError<"TOO_MANY_BRANCHES" | "WORKER_FAILED" | "NOT_CAPTURED"> {}
