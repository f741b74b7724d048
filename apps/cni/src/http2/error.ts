import { AntreaError } from "@antrea/errors";

/**
 * The peer violated HTTP/2 (RFC 9113; the codes are its error codes of section 7), HPACK (RFC 7541) or gRPC's mapping
 * to them, or exceeded a local limit (`TOO_LARGE`, which is no code of HTTP/2). The connection is unusable afterwards.
 */
export class Http2Error extends AntreaError<
    "PROTOCOL_ERROR" | "FRAME_SIZE_ERROR" | "FLOW_CONTROL_ERROR" | "COMPRESSION_ERROR" | "TOO_LARGE"
> {}

/** Returns an `Http2Error` PROTOCOL_ERROR (RFC 9113 section 7) caused by the peer; `message` names the violation. */
export function protocolError(message: string): Http2Error {
    return new Http2Error("PROTOCOL_ERROR", "remote", message);
}
