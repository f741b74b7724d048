import { HEADER_BYTES } from "../message/frame.ts";
import { type Request } from "../message/request.ts";

// The acknowledgements of one datagram must fit into the default receive buffer (212,992 bytes, 768 each at least).
const MAX_REQUESTS_A_DATAGRAM = 64;
const MAX_DATAGRAM_BYTES = 32_768;

/** Divides requests, in their order, into groups that are sent as one datagram each; one that is too long is alone. */
export function datagrams(requests: readonly Request[]): readonly (readonly Request[])[] {
    const groups: Request[][] = [];
    let bytes = 0;
    for (const request of requests) {
        const length = HEADER_BYTES + request.body.length;
        const last = groups.at(-1);
        if (last === undefined || last.length >= MAX_REQUESTS_A_DATAGRAM || bytes + length > MAX_DATAGRAM_BYTES) {
            groups.push([request]);
            bytes = length;
        } else {
            last.push(request);
            bytes += length;
        }
    }
    return groups;
}
