import { describe, expect, it } from "@jest/globals";
import { ipToBytes, parseIp, parseMac } from "@antrea/ip";
import { rejection } from "../../../../src/features/services/rejects/answer.ts";
import { readPacket } from "../../../../src/features/services/rejects/packet.ts";

const pod = parseMac("0a:58:0a:0a:01:02");
const gateway = parseMac("0a:58:0a:0a:01:01");
const bytes = (...parts: readonly (number | Uint8Array | readonly number[])[]): Uint8Array =>
    Uint8Array.from(parts.flatMap((part) => (typeof part === "number" ? [part] : [...part])));
const u16 = (value: number): readonly number[] => [value >> 8, value & 0xff];
const u32 = (value: number): readonly number[] => [...u16(value >>> 16), ...u16(value & 0xffff)];
const hex = (all: Uint8Array): string => Buffer.from(all).toString("hex");

/** A frame from the Pod to a Service. */
function frame(family: 4 | 6, protocol: number, payload: Uint8Array, padding = 0): Uint8Array {
    const [from, to] = family === 4 ? ["10.10.1.2", "10.96.0.10"] : ["fd10::2", "fd00:96::a"];
    const addresses = bytes(ipToBytes(parseIp(from)), ipToBytes(parseIp(to)));
    const header =
        family === 4
            ? bytes(0x45, 0, u16(20 + payload.length), u16(7), u16(0x4000), 64, protocol, 0, 0)
            : bytes(0x60, 0, 0, 0, u16(payload.length), protocol, 64);
    const type = family === 4 ? [8, 0] : [0x86, 0xdd];
    return bytes(gateway, pod, type, header, addresses, payload, new Uint8Array(padding));
}

const tcp = (flags: number, { seq = 1_000, ack = 2_000, data = 0 } = {}): Uint8Array =>
    bytes(u16(40_000), u16(80), u32(seq), u32(ack), 0x50, flags, u16(64_000), u32(0), new Uint8Array(data));
const udp = (data: number): Uint8Array =>
    bytes(u16(40_000), u16(53), u16(8 + data), u16(0), new Uint8Array(data).fill(7));

function answerTo(text: Uint8Array): Uint8Array | undefined {
    const packet = readPacket(text);
    return packet && rejection(packet);
}

/** The sum over a header or a packet with its checksum is 0xffff. */
function sum(...parts: readonly Uint8Array[]): number {
    const all = bytes(...parts, ...(parts.reduce((size, part) => size + part.length, 0) % 2 === 1 ? [0] : []));
    let total = 0;
    for (let at = 0; at < all.length; at += 2) total += ((all[at] ?? 0) << 8) | (all[at + 1] ?? 0);
    while (total > 0xffff) total = (total & 0xffff) + (total >>> 16);
    return total;
}

/** The parts of an answer, whose addresses, lengths and checksums are right. */
function checked(family: 4 | 6, answer: Uint8Array | undefined): { protocol: number; payload: Uint8Array } {
    if (answer === undefined) throw new TypeError("no answer");
    expect(hex(answer.subarray(0, 12))).toBe(hex(bytes(pod, gateway)));
    const ip = answer.subarray(14);
    const [from, to] = family === 4 ? ["10.96.0.10", "10.10.1.2"] : ["fd00:96::a", "fd10::2"];
    const addresses = bytes(ipToBytes(parseIp(from)), ipToBytes(parseIp(to)));
    const headerLength = family === 4 ? 20 : 40;
    expect(hex(ip.subarray(headerLength - addresses.length, headerLength))).toBe(hex(addresses));
    const payload = ip.subarray(headerLength);
    const protocol = ip[family === 4 ? 9 : 6] ?? 0;
    if (family === 4) {
        expect(sum(ip.subarray(0, 20))).toBe(0xffff);
        expect(((ip[2] ?? 0) << 8) | (ip[3] ?? 0)).toBe(ip.length);
    } else {
        expect(((ip[4] ?? 0) << 8) | (ip[5] ?? 0)).toBe(payload.length);
    }
    const pseudo = protocol === 1 ? [] : [addresses, bytes(u32(payload.length), u32(protocol))];
    expect(sum(...pseudo, payload)).toBe(0xffff);
    return { protocol, payload };
}

describe.each([4, 6] as const)("rejections of IPv%d", (family) => {
    it.each<[string, Uint8Array, number, number, number]>([
        ["a SYN", tcp(0x02), 0, 1_001, 0x14],
        ["a SYN with the highest sequence number", tcp(0x02, { seq: 0xffff_ffff }), 0, 0, 0x14],
        ["a SYN with data", tcp(0x02, { data: 11 }), 0, 1_012, 0x14],
        ["a segment with an acknowledgement", tcp(0x10, { data: 3 }), 2_000, 0, 0x04],
        ["a FIN with an acknowledgement", tcp(0x11), 2_000, 0, 0x04],
    ])("reset %s", (_name, segment, seq, ack, flags) => {
        const { protocol, payload } = checked(family, answerTo(frame(family, 6, segment, 6)));
        expect(protocol).toBe(6);
        expect(hex(payload.subarray(0, 16))).toBe(
            hex(bytes(u16(80), u16(40_000), u32(seq), u32(ack), 0x50, flags, u16(0))),
        );
        expect(payload).toHaveLength(20);
    });

    it.each([0, 1, 100, 1_400])("report the port of a datagram of %d bytes as unreachable", (size) => {
        const packet = frame(family, 17, udp(size));
        const { protocol, payload } = checked(family, answerTo(packet));
        expect(protocol).toBe(family === 4 ? 1 : 58);
        expect([...payload.subarray(0, 2)]).toEqual(family === 4 ? [3, 3] : [1, 4]);
        const cited = packet.subarray(14, 14 + (family === 4 ? 576 - 28 : 1_280 - 48));
        expect(hex(payload.subarray(8))).toBe(hex(cited));
    });

    it.each<[string, number, Uint8Array]>([
        ["a reset", 6, tcp(0x04)],
        ["a reset with an acknowledgement", 6, tcp(0x14)],
        ["a segment that is truncated", 6, tcp(0x02).subarray(0, 19)],
        ["an ICMP message", 1, bytes(8, 0, u16(0), u32(0))],
        ["an ICMPv6 message", 58, bytes(128, 0, u16(0), u32(0))],
    ])("leave out %s", (_name, protocol, payload) => {
        expect(answerTo(frame(family, protocol, payload))).toBe(undefined);
    });

    it("survive every beginning of a packet, and any byte changed", () => {
        const whole = frame(family, 6, tcp(0x02, { data: 5 }));
        for (let length = 0; length < whole.length; length += 1) {
            expect(answerTo(whole.subarray(0, length))).toBe(undefined);
        }
        for (let at = 12; at < whole.length; at += 1) {
            for (const value of [0, 1, 0x44, 0xff]) answerTo(whole.with(at, value));
        }
    });
});

describe("packets", () => {
    it("of IPv6 have extension headers", () => {
        const options = bytes(6, 0, 1, 4, 0, 0, 0, 0);
        const packet = readPacket(frame(6, 60, bytes(options, tcp(0x02))));
        expect([packet?.protocol, packet?.transport.length]).toEqual([6, 20]);
    });

    it.each([
        ["first", 1, 17],
        ["later", 0x0009, undefined],
    ])("of IPv6 may be a %s fragment", (_name, offset, protocol) => {
        const fragment = bytes(17, 0, u16(offset), u32(1));
        expect(readPacket(frame(6, 44, bytes(fragment, udp(8))))?.protocol).toBe(protocol);
    });

    it("of IPv4 may be a later fragment, which has no ports", () => {
        const whole = frame(4, 17, udp(8));
        expect(readPacket(whole.with(21, 1))).toBe(undefined);
    });

    it("of other kinds are none", () => {
        expect(readPacket(frame(4, 17, udp(8)).with(12, 0x81))).toBe(undefined);
    });
});
