import { readPacket, rejection, type IpPacket } from "@antrea/agent/features/services/rejects";
import { internetChecksum } from "@antrea/ip";
import { BrokenProperty, mustEqual, type Target } from "../target.ts";
import { fromHex } from "../fixture.ts";

const macs = "0a580a0a0101" + "0a580a0a0102";
const syn = "9c4000500000000100000000" + "5002fa0000000000";
const datagram = "9c400035000c0000" + "01020304";
const v4 = (protocol: string, payload: string): string =>
    `${macs}08004500${(20 + payload.length / 2).toString(16).padStart(4, "0")}0007400040${protocol}00000a0a01020a60000a${payload}`;
const v6 = (next: string, payload: string): string =>
    `${macs}86dd60000000${(payload.length / 2).toString(16).padStart(4, "0")}${next}40` +
    `fd10${"00".repeat(13)}02fd000096${"00".repeat(11)}0a${payload}`;

/** The most bytes of an answer: RFC 1812 section 4.3.2.3, RFC 4443 section 2.4, and the Ethernet header. */
const maxBytes = { 4: 14 + 576, 6: 14 + 1_280 } as const;

/** Frames to a Service without endpoints, which a Pod or a client outside chooses, and the agent's answer. */
export const target: Target = {
    seeds: () =>
        [
            v4("06", syn),
            v4("06", `${syn}00000000`),
            v4("11", datagram),
            v4("11", "00".repeat(1_400)),
            v4("84", datagram),
            v4("01", "0800000000000000"),
            v6("06", syn),
            v6("11", datagram),
            v6("11", "00".repeat(1_400)),
            v6("3c", `0600010400000000${syn}`),
            v6("2c", `1100000100000001${datagram}`),
            v6("3a", "8000000000000000"),
        ].map(fromHex),
    run: (input) => {
        const packet = readPacket(input);
        const frame = packet && rejection(packet);
        if (packet === undefined || frame === undefined) return;
        const answer = readPacket(frame);
        if (answer === undefined) throw new BrokenProperty("an answer that cannot be read");
        if (frame.length > maxBytes[packet.family]) throw new BrokenProperty(`an answer of ${frame.length} bytes`);
        mustEqual("where it is sent", endsOf(answer), endsOf(packet).toReversed());
        if (sumOf(answer) !== 0) throw new BrokenProperty("the checksum of an answer is wrong");
        if (rejection(answer) !== undefined) throw new BrokenProperty("an answer is answered");
    },
    isRefusal: () => false,
};

/** MAC and IP addresses of sender and receiver. */
function endsOf({ frame, family, ip }: IpPacket): readonly string[] {
    const [at, size] = family === 4 ? [12, 4] : [8, 16];
    const [from, to] = [ip.subarray(at, at + size), ip.subarray(at + size, at + 2 * size)];
    return [
        [frame.subarray(6, 12), from],
        [frame.subarray(0, 6), to],
    ].map((parts) => Buffer.concat(parts).toString("hex"));
}

/** 0 if the checksum is right; that of ICMP in IPv4 is of the message alone. */
function sumOf({ family, ip, protocol, transport }: IpPacket): number {
    const addresses = family === 4 ? ip.subarray(12, 20) : ip.subarray(8, 40);
    const end = Uint8Array.of(0, 0, transport.length >> 8, transport.length & 0xff, 0, 0, 0, protocol);
    return internetChecksum(protocol === 1 ? [transport] : [addresses, end, transport]);
}
