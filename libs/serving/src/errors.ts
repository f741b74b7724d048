import { AntreaError } from "@antrea/errors";

export type ServingErrorCode =
    /** A call came in a state in which it has no meaning: a port asked for before the start, a second start. */
    | "WRONG_STATE"
    /** The name of a check is taken. */
    | "DUPLICATE_NAME"
    /** The variable PROBE_PORT is no port. */
    | "BAD_PORT";

/** The errors of this library, those of certificates excepted. */
export class ServingError<Code extends ServingErrorCode = ServingErrorCode> extends AntreaError<Code> {}
