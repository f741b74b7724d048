import { describe, expect, it } from "@jest/globals";
import { readFrames, readTunnel } from "../fixture/capture.ts";

const ether = (type: string): string => `02000ac90004 02000ac90003 ${type}`;
const ip4 = (protocol: string, ttl: string, tos: string): string =>
    `45${tos}0086 0000 4000 ${ttl}${protocol}0000 0ac90003 0aca0004`;
const ip6 = `60200000 0072 11 40 fd000201000000000000000000000003 fd000202000000000000000000000004`;
// an echo request that met congestion
const inner = `${ether("0800")} 45030054 0000 4000 3f010000 0af40105 0af40206 0800 0000`;
const bytes = (...parts: string[]): Buffer => Buffer.from(parts.join("").replaceAll(" ", ""), "hex");

describe("the packets of tunnels", () => {
    const innerHeader = { source: "10.244.1.5", destination: "10.244.2.6", ttl: 63, ecn: 3, protocol: 1, length: 84 };
    const outer = { source: "10.201.0.3", destination: "10.202.0.4", ttl: 63, ecn: 2, length: 134 };

    it("are read from Geneve, options skipped", () => {
        const header = "c000 17c1 0072 0000 01006558 00000500 00000000";
        expect(readTunnel("geneve", bytes(ether("0800"), ip4("11", "3f", "02"), header, inner))).toEqual({
            type: "geneve",
            port: 6081,
            checksum: false,
            key: 5,
            icmpType: 8,
            outer: { ...outer, protocol: 17 },
            inner: innerHeader,
        });
    });

    it("are read from VXLAN over IPv6", () => {
        const header = "c000 12b5 0072 abcd 08000000 00000700";
        expect(readTunnel("vxlan", bytes(ether("86dd"), ip6, header, inner))).toEqual({
            type: "vxlan",
            port: 4789,
            checksum: true,
            key: 7,
            icmpType: 8,
            outer: { source: "fd00:201::3", destination: "fd00:202::4", ttl: 64, ecn: 2, protocol: 17, length: 154 },
            inner: innerHeader,
        });
    });

    it("are read from GRE with a key", () => {
        const header = "2000 6558 00000009";
        expect(readTunnel("gre", bytes(ether("0800"), ip4("2f", "3f", "02"), header, inner))).toEqual({
            type: "gre",
            checksum: false,
            key: 9,
            icmpType: 8,
            outer: { ...outer, protocol: 47 },
            inner: innerHeader,
        });
    });

    it("are none where there is no tunnel", () => {
        expect(readTunnel("geneve", bytes(ether("0806"), "00".repeat(28)))).toBeUndefined();
        expect(readTunnel("gre", bytes(ether("0800"), ip4("01", "40", "00"), "0800"))).toBeUndefined();
    });

    it("come out of a file of tcpdump; one that was not written to its end is left out", () => {
        const record = (length: number, data: string): Buffer => {
            const header = Buffer.alloc(16);
            header.writeUInt32LE(length, 8);
            return Buffer.concat([header, bytes(data)]);
        };
        const file = Buffer.concat([Buffer.alloc(24), record(2, "0102"), record(1, "03"), record(9, "04")]);
        expect(readFrames(file)).toEqual([bytes("0102"), bytes("03")]);
    });
});
