import { AntreaError } from "@antrea/errors";

/** Codes of ServingError: `WRONG_STATE` of the servers, `DUPLICATE_NAME` of Checks, `BAD_PORT` of `probePortFrom`. */
export type ServingErrorCode =
    /** The call is not valid in the current state: a port before the start, a second start. */
    | "WRONG_STATE"
    /** The name of a health check is in use. */
    | "DUPLICATE_NAME"
    /** The variable PROBE_PORT is not a port. */
    | "BAD_PORT";

/** The error class of this library, except for certificates (see CertificateKeeper); it has no details. */
export class ServingError<Code extends ServingErrorCode = ServingErrorCode> extends AntreaError<Code> {}
