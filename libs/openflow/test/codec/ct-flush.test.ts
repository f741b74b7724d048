import { describe, expect, it } from "@jest/globals";
import { type CtFlush, Writer } from "../../src/codec/index.ts";
import { writeCtFlush } from "../../src/codec/message/ct-flush.ts";
import { hex } from "../fixtures.ts";

const v4 = (value: number) => ({ family: 4, value: BigInt(value) }) as const;
const v6 = (value: bigint) => ({ family: 6, value }) as const;

function written(flush: Omit<CtFlush, "zone"> & Partial<CtFlush>): string {
    const writer = new Writer();
    writeCtFlush(writer, 1, { zone: 1, ...flush });
    return hex(writer.finish());
}

// group.test.ts compares with the bytes of ovs-ofctl ct-flush.
describe("NXT_CT_FLUSH (nicira-ext.h of Open vSwitch)", () => {
    const address = (property: number, ip: string): string => `000${property}0014${ip}00000000`;
    const port = (property: number, number: string): string => `000${property}0008${number}0000`;

    it("has protocol, both tuples and zone, in this order", () => {
        const original = { src: v4(0x0a000001), dst: v4(0x0a000002), srcPort: 1, dstPort: 65535 };
        const reply = { src: v4(0x0a000003), dst: v4(0x0a000004), srcPort: 3, dstPort: 4 };
        const tuple = (kind: number, last: number, ports: readonly [string, string]): string =>
            `000${kind}004800000000` +
            address(0, `00000000000000000000ffff0a00000${last - 1}`) +
            address(1, `00000000000000000000ffff0a00000${last}`) +
            port(2, ports[0]) +
            port(3, ports[1]);
        expect(written({ protocol: 17, zone: 65535, original, reply })).toBe(
            "060400b000000001" +
                "00002320" +
                "00000020" +
                "1100000000000000" +
                tuple(0, 2, ["0001", "ffff"]) +
                tuple(1, 4, ["0003", "0004"]) +
                port(2, "ffff"),
        );
    });

    it.each([6, 17, 132])("protocol %i has ports, in either direction", (protocol) => {
        expect(written({ protocol, original: { srcPort: 1 } })).toContain(port(2, "0001"));
        expect(written({ protocol, original: { dstPort: 1 } })).toContain(port(3, "0001"));
        expect(written({ protocol, reply: { srcPort: 1 } })).toContain(port(2, "0001"));
        expect(written({ protocol, reply: { dstPort: 1 } })).toContain(port(3, "0001"));
    });

    const tuples = [
        (tuple: NonNullable<CtFlush["original"]>) => ({ original: tuple }),
        (tuple: NonNullable<CtFlush["original"]>) => ({ reply: tuple }),
    ];

    it.each<[string, Parameters<typeof written>[0], string]>([
        ["a zone of 17 bits", { zone: 65536 }, "flush.zone: 65536 is no integer from 0 to 65535"],
        ["a protocol of 9 bits", { protocol: 256 }, "flush.protocol: 256 is no integer from 0 to 255"],
        ["protocol 0", { protocol: 0 }, "flush: protocol 0 matches every one; leave it out"],
        ...tuples.flatMap((of): [string, Parameters<typeof written>[0], string][] => [
            [
                "a source port of 17 bits",
                { protocol: 6, ...of({ srcPort: 65536 }) },
                "flush.srcPort: 65536 is no integer",
            ],
            [
                "a target port of 17 bits",
                { protocol: 6, ...of({ dstPort: 65536 }) },
                "flush.dstPort: 65536 is no integer",
            ],
            ["source port 0", { protocol: 6, ...of({ srcPort: 0 }) }, "flush: port 0 matches every one; leave it out"],
            ["target port 0", { protocol: 6, ...of({ dstPort: 0 }) }, "flush: port 0 matches every one; leave it out"],
            ["a source port without protocol", of({ srcPort: 1 }), "flush: ports need protocol 6, 17 or 132"],
            [
                "a target port of ICMP",
                { protocol: 1, ...of({ dstPort: 1 }) },
                "flush: ports need protocol 6, 17 or 132",
            ],
            [
                "an unspecified source",
                of({ src: v4(0) }),
                "flush: an unspecified address matches every one; leave it out",
            ],
            [
                "an unspecified target",
                of({ dst: v6(0n) }),
                "flush: an unspecified address matches every one; leave it out",
            ],
            [
                "addresses of both families",
                of({ src: v4(1), dst: v6(1n) }),
                "flush: addresses of both families; a connection has one",
            ],
        ]),
    ])("%s: refused", (_name, flush, rule) => {
        expect(() => written(flush)).toThrow(
            expect.objectContaining({ code: "BAD_VALUE", fault: "caller", message: expect.stringContaining(rule) }),
        );
    });
});
