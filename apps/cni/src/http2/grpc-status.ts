/** The gRPC status codes (gRPC, "Status codes and their use") that are used by name; others pass through as numbers. */
export const GrpcStatus = {
    OK: 0,
    CANCELLED: 1,
    UNKNOWN: 2,
    DEADLINE_EXCEEDED: 4,
    PERMISSION_DENIED: 7,
    RESOURCE_EXHAUSTED: 8,
    UNIMPLEMENTED: 12,
    INTERNAL: 13,
    UNAVAILABLE: 14,
    UNAUTHENTICATED: 16,
} as const;

/**
 * The gRPC status for an HTTP status without a gRPC status (gRPC: HTTP to gRPC status code mapping); UNKNOWN for one
 * that is not in that list, also 200.
 */
export function statusOfHttp(status: number): number {
    switch (status) {
        case 400:
            return GrpcStatus.INTERNAL;
        case 401:
            return GrpcStatus.UNAUTHENTICATED;
        case 403:
            return GrpcStatus.PERMISSION_DENIED;
        case 404:
            return GrpcStatus.UNIMPLEMENTED;
        case 429:
        case 502:
        case 503:
        case 504:
            return GrpcStatus.UNAVAILABLE;
        default:
            return GrpcStatus.UNKNOWN;
    }
}

/**
 * The gRPC status for the error code of RST_STREAM (gRPC over HTTP/2, section "Errors"); INTERNAL for one without a
 * mapping.
 */
export function statusOfReset(errorCode: number): number {
    switch (errorCode) {
        case 7: // REFUSED_STREAM
            return GrpcStatus.UNAVAILABLE;
        case 8: // CANCEL
            return GrpcStatus.CANCELLED;
        case 11: // ENHANCE_YOUR_CALM
            return GrpcStatus.RESOURCE_EXHAUSTED;
        case 12: // INADEQUATE_SECURITY
            return GrpcStatus.PERMISSION_DENIED;
        default:
            return GrpcStatus.INTERNAL;
    }
}

/**
 * Decodes `grpc-message`, percent-encoded UTF-8, with one character per octet. Never throws: a "%" without two
 * hexadecimal digits is left unchanged, invalid UTF-8 becomes U+FFFD.
 */
export function decodeGrpcMessage(text: string): string {
    const octets: number[] = [];
    for (let at = 0; at < text.length; at++) {
        const escaped = /%[0-9a-fA-F]{2}/.test(text.slice(at, at + 3));
        octets.push(escaped ? Number.parseInt(text.slice(at + 1, at + 3), 16) : text.charCodeAt(at));
        if (escaped) at += 2;
    }
    return new TextDecoder().decode(Uint8Array.from(octets));
}
