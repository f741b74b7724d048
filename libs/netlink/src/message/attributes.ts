import { familyBits, ipFromBytes, type Family, type IpAddress } from "@antrea/ip";
import { NetlinkError } from "../errors.ts";
import { LITTLE_ENDIAN } from "./bytes.ts";
import { Reader } from "./reader.ts";

const HEADER_BYTES = 4;
/** One more than the length of an attribute can be, which has 16 bits. */
const MAX_ATTRIBUTE = 2 ** 16;

// The upper two bits mean "nested" and "network byte order"; the kernel sets the former for some types only.
const TYPE_MASK = 0x3fff;

/**
 * The attributes of a message (struct rtattr, rtnetlink(3)) as pairs of number and payload, in order; payloads are
 * views. Throws `NetlinkError` `SHORT_MESSAGE` or `BAD_MESSAGE` for a length that does not fit. `what` names the
 * structure in errors.
 */
export function listAttributes(bytes: Uint8Array, what: string): readonly (readonly [number, Uint8Array])[] {
    const found: (readonly [number, Uint8Array])[] = [];
    eachAttribute(bytes, what, (type, start, length) => found.push([type, bytes.subarray(start, start + length)]));
    return found;
}

/** Calls `found` with number, offset and length of the payload of each attribute; throws as `listAttributes`. */
function eachAttribute(
    bytes: Uint8Array,
    what: string,
    found: (type: number, start: number, length: number) => void,
): void {
    const reader = new Reader(bytes, `attributes of ${what}`);
    while (reader.remaining > 0) {
        const length = reader.u16();
        const type = reader.u16() & TYPE_MASK;
        if (length < HEADER_BYTES) throw malformed(what, type, `its length is ${length}, less than its own header`);
        const start = reader.offset;
        reader.skip(length - HEADER_BYTES);
        found(type, start, length - HEADER_BYTES);
        reader.skipPadding(length);
    }
}

/**
 * The attributes of one message by number; of repeated ones the last. Payloads are views, numbers in host byte order.
 * The constructor and `nested` throw as `listAttributes`. Each method returns undefined for an attribute that is
 * absent, and throws `NetlinkError` `BAD_MESSAGE` for one of the wrong length. `what` names the structure in errors.
 */
export class Attributes {
    readonly #bytes: Uint8Array;
    readonly #view: DataView;
    readonly #what: string;
    /**
     * By number, offset and length of the payload: offset * 2^16 + length. A link has some 50 attributes, of which few are
     * read, and a Node thousands of links, so no view is made of those that nobody asks for.
     */
    readonly #places = new Map<number, number>();

    constructor(bytes: Uint8Array, what: string) {
        this.#bytes = bytes;
        this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
        this.#what = what;
        eachAttribute(bytes, what, (type, start, length) => this.#places.set(type, start * MAX_ATTRIBUTE + length));
    }

    bytes(type: number): Uint8Array | undefined {
        const place = this.#places.get(type);
        if (place === undefined) return undefined;
        const start = Math.floor(place / MAX_ATTRIBUTE);
        return this.#bytes.subarray(start, start + (place % MAX_ATTRIBUTE));
    }

    u32(type: number): number | undefined {
        const start = this.#startOf(type, 4);
        return start === undefined ? undefined : this.#view.getUint32(start, LITTLE_ENDIAN);
    }

    i32(type: number): number | undefined {
        const start = this.#startOf(type, 4);
        return start === undefined ? undefined : this.#view.getInt32(start, LITTLE_ENDIAN);
    }

    /** Text up to its first NUL; bytes that are not UTF-8 become U+FFFD. */
    text(type: number): string | undefined {
        const payload = this.bytes(type);
        return payload === undefined ? undefined : textOf(payload);
    }

    /** An address of this family in network byte order. */
    ip(type: number, family: Family): IpAddress | undefined {
        const length = familyBits(family) / 8;
        const start = this.#startOf(type, length);
        return start === undefined ? undefined : ipFromBytes(this.#bytes.subarray(start, start + length));
    }

    /** The attributes within an attribute. */
    nested(type: number): Attributes | undefined {
        const payload = this.bytes(type);
        return payload === undefined ? undefined : new Attributes(payload, `${this.#what}, attribute ${type}`);
    }

    #startOf(type: number, length: number): number | undefined {
        const place = this.#places.get(type);
        if (place === undefined) return undefined;
        const found = place % MAX_ATTRIBUTE;
        if (found !== length) throw malformed(this.#what, type, `${length} bytes expected, it has ${found}`);
        return Math.floor(place / MAX_ATTRIBUTE);
    }
}

const utf8 = new TextDecoder();

/** The text of an attribute's payload up to its first NUL; bytes that are not UTF-8 become U+FFFD. */
export function textOf(payload: Uint8Array): string {
    const end = payload.indexOf(0);
    return utf8.decode(end < 0 ? payload : payload.subarray(0, end));
}

function malformed(what: string, type: number, fault: string): NetlinkError {
    return new NetlinkError("BAD_MESSAGE", "remote", `netlink ${what}: attribute ${type}: ${fault}`);
}
