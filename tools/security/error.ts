import { AntreaError } from "@antrea/errors";

/** A shipped artifact could not be read, or is invalid. */
export class SecurityError extends AntreaError<"UNREADABLE" | "USAGE" | "NO_LICENCE" | "PROGRAM_FAILED"> {}
