import { familyBits, ipFromBytes, type Family, type IpAddress } from "@antrea/ip";
import { NetlinkError } from "../errors.ts";
import { Reader } from "./bytes.ts";

const HEADER_BYTES = 4;

// The upper two bits mean "nested" and "network byte order"; the kernel sets the former for some types only.
const TYPE_MASK = 0x3fff;

/**
 * The attributes of a message (struct rtattr, rtnetlink(3)) as pairs of number and payload, in order; payloads are
 * views. Throws `NetlinkError` `SHORT_MESSAGE` or `BAD_MESSAGE` for a length that does not fit. `what` names the
 * structure in errors.
 */
export function listAttributes(bytes: Uint8Array, what: string): readonly (readonly [number, Uint8Array])[] {
    const reader = new Reader(bytes, `attributes of ${what}`);
    const found: (readonly [number, Uint8Array])[] = [];
    while (reader.remaining > 0) {
        const length = reader.u16();
        const type = reader.u16() & TYPE_MASK;
        if (length < HEADER_BYTES) throw malformed(what, type, `its length is ${length}, less than its own header`);
        found.push([type, reader.bytes(length - HEADER_BYTES)]);
        reader.skipPadding(length);
    }
    return found;
}

/**
 * The attributes of one message by number; of repeated ones the last. Payloads are views, numbers in host byte order.
 * The constructor and `nested` throw as `listAttributes`. Each method returns undefined for an attribute that is
 * absent, and throws `NetlinkError` `BAD_MESSAGE` for one of the wrong length. `what` names the structure in errors.
 */
export class Attributes {
    readonly #byType: ReadonlyMap<number, Uint8Array>;
    readonly #what: string;

    constructor(bytes: Uint8Array, what: string) {
        this.#byType = new Map(listAttributes(bytes, what));
        this.#what = what;
    }

    bytes(type: number): Uint8Array | undefined {
        return this.#byType.get(type);
    }

    u32(type: number): number | undefined {
        return this.#read(type, 4, (reader) => reader.u32());
    }

    i32(type: number): number | undefined {
        return this.#read(type, 4, (reader) => reader.i32());
    }

    /** Text up to its first NUL; bytes that are not UTF-8 become U+FFFD. */
    text(type: number): string | undefined {
        const payload = this.#byType.get(type);
        return payload === undefined ? undefined : textOf(payload);
    }

    /** An address of this family in network byte order. */
    ip(type: number, family: Family): IpAddress | undefined {
        const length = familyBits(family) / 8;
        const payload = this.#byType.get(type);
        if (payload === undefined) return undefined;
        if (payload.length !== length) throw malformed(this.#what, type, sizeFault(length, payload));
        return ipFromBytes(payload);
    }

    /** The attributes within an attribute. */
    nested(type: number): Attributes | undefined {
        const payload = this.#byType.get(type);
        return payload === undefined ? undefined : new Attributes(payload, `${this.#what}, attribute ${type}`);
    }

    #read<T>(type: number, length: number, read: (reader: Reader) => T): T | undefined {
        const payload = this.#byType.get(type);
        if (payload === undefined) return undefined;
        if (payload.length !== length) {
            throw malformed(this.#what, type, sizeFault(length, payload));
        }
        return read(new Reader(payload, this.#what));
    }
}

/** The text of an attribute's payload up to its first NUL; bytes that are not UTF-8 become U+FFFD. */
export function textOf(payload: Uint8Array): string {
    const end = payload.indexOf(0);
    return new TextDecoder().decode(end < 0 ? payload : payload.subarray(0, end));
}

function sizeFault(length: number, payload: Uint8Array): string {
    return `${length} bytes expected, it has ${payload.length}`;
}

function malformed(what: string, type: number, fault: string): NetlinkError {
    return new NetlinkError("BAD_MESSAGE", "remote", `netlink ${what}: attribute ${type}: ${fault}`);
}
