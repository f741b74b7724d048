import { AntreaError } from "@antrea/errors";

/**
 * The peer broke a rule of HTTP/2 (RFC 9113), HPACK (RFC 7541) or of gRPC's mapping to them, or went beyond a limit of
 * ours. The connection is of no use after it.
 */
export class Http2Error extends AntreaError<
    "PROTOCOL_ERROR" | "FRAME_SIZE_ERROR" | "FLOW_CONTROL_ERROR" | "COMPRESSION_ERROR" | "TOO_LARGE"
> {}

export function protocolError(message: string): Http2Error {
    return new Http2Error("PROTOCOL_ERROR", "peer", message);
}
