import { AntreaError } from "@antrea/errors";

/** What ships could not be read, or is not as it must be. */
export class SecurityError extends AntreaError<"UNREADABLE" | "USAGE" | "NO_LICENCE" | "PROGRAM_FAILED"> {}
