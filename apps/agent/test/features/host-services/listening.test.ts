import { describe, expect, it } from "@jest/globals";
import { formatIp, parseIp } from "@antrea/ip";
import { ListeningPorts, parseSockets } from "../../../src/features/host-services/listening.ts";

const rest = "00000000:00000000 00:00000000 00000000     0        0 12345 1 0000000000000000 100 0 0 10 0";
const header = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
const texts = (lines: readonly string[], protocol: "TCP" | "UDP", byteOrder: "BE" | "LE" = "LE"): readonly string[] =>
    parseSockets(lines, protocol, byteOrder).map(({ ip, port }) => `${formatIp(ip)} ${port}`);

describe("sockets of /proc/net", () => {
    it.each<[string, string, "BE" | "LE", string]>([
        ["of IPv4", "0100007F:0035", "LE", "127.0.0.1 53"],
        ["of IPv4, on a host of big endian", "7F000001:0035", "BE", "127.0.0.1 53"],
        ["of all addresses of IPv4", "00000000:1F90", "LE", "0.0.0.0 8080"],
        ["of all addresses of IPv6", "00000000000000000000000000000000:FFFF", "LE", ":: 65535"],
        ["of IPv6", "B80D0120000000000000000001000000:0050", "LE", "2001:db8::1 80"],
        [
            "of IPv6, whose words are in order",
            "B80D0120040302010807060510000000:0050",
            "LE",
            "2001:db8:102:304:506:708:0:10 80",
        ],
        [
            "of IPv6, on a host of big endian",
            "20010DB8010203040506070800000010:0050",
            "BE",
            "2001:db8:102:304:506:708:0:10 80",
        ],
        ["of IPv6 for an address of IPv4", "0000000000000000FFFF0000010200C0:0050", "LE", "192.0.2.1 80"],
        ["of the same, on a host of big endian", "00000000000000000000FFFFC0000201:0050", "BE", "192.0.2.1 80"],
    ])("%s", (_name, address, byteOrder, expected) => {
        const peer = address.replace(/[0-9A-F]/g, "0");
        expect(texts([header, `   0: ${address} ${peer} 0A ${rest}`], "TCP", byteOrder)).toEqual([expected]);
        expect(texts([`  123: ${address} ${peer} 07 ${rest}`], "UDP", byteOrder)).toEqual([expected]);
    });

    it("of TCP count if they listen, of UDP if they have no peer", () => {
        const states = ["01", "02", "03", "06", "07", "08", "0A", "0C"];
        const lines = states.map((state, at) => `   ${at}: 00000000:000${at} 00000000:0000 ${state} ${rest}`);
        expect(texts(lines, "TCP")).toEqual(["0.0.0.0 6"]);
        const connected = `   9: 010200C0:C350 070200C0:0035 01 ${rest}`;
        expect(texts([lines[4] ?? "", connected], "UDP")).toEqual(["0.0.0.0 4"]);
    });

    it("skip lines that cannot be read", () => {
        const lines = ["", header, "   0: 0100007F:00", `   0: 0100:0035 00000000:0000 0A ${rest}`, "x"];
        for (const protocol of ["TCP", "UDP"] as const) expect(texts(lines, protocol)).toEqual([]);
    });
});

it("programs are found by address, protocol and port", () => {
    const ports = new ListeningPorts([
        { protocol: "TCP", ip: parseIp("192.0.2.1"), port: 80 },
        { protocol: "UDP", ip: parseIp("0.0.0.0"), port: 53 },
        { protocol: "TCP", ip: parseIp("::"), port: 22 },
    ]);
    const has = (ip: string, protocol: "TCP" | "UDP", port: number): boolean =>
        ports.has([parseIp("198.51.100.1"), parseIp(ip)], protocol, port);
    expect([has("192.0.2.1", "TCP", 80), has("192.0.2.1", "UDP", 80), has("192.0.2.2", "TCP", 80)]).toEqual([
        true,
        false,
        false,
    ]);
    expect([has("192.0.2.1", "UDP", 53), has("192.0.2.1", "TCP", 22), has("2001:db8::1", "TCP", 22)]).toEqual([
        true,
        true,
        true,
    ]);
    expect(ports.has([parseIp("2001:db8::1")], "UDP", 53)).toBe(false);
    expect(ports.has([], "TCP", 22)).toBe(false);
});
