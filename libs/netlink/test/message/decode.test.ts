import { describe, expect, it } from "@jest/globals";
import { formatIp, formatPrefix, type IpAddress } from "@antrea/ip";
import { decodeAcknowledgement, decodeDone } from "../../src/message/acknowledgement.ts";
import { decodeAddress } from "../../src/message/address.ts";
import { decodeFrames, encodeFrames, type Frame } from "../../src/message/frame.ts";
import { decodeLink } from "../../src/message/link.ts";
import { decodeNeighbour } from "../../src/message/neighbour.ts";
import { decodeNetnsId } from "../../src/message/netns-id.ts";
import { decodeRoute } from "../../src/message/decode-route.ts";
import { decodeEvents } from "../../src/socket/events.ts";
import fc from "fast-check";
import * as captured from "./captured.ts";

const { fromHex } = captured;
const DATAGRAMS = Object.entries({
    link: captured.vethLink,
    nic: captured.nicLink,
    addresses: captured.addresses,
    routes: captured.routes,
    neighbours: captured.neighbours,
});

function payloads(datagram: Uint8Array, type: number): readonly Uint8Array[] {
    return decodeFrames(datagram).flatMap((frame) => (frame.type === type ? [frame.payload] : []));
}

function only(datagram: Uint8Array): Frame {
    const [frame] = decodeFrames(datagram);
    if (frame === undefined) throw new Error("no frame");
    return frame;
}

describe("captured messages", () => {
    it("a veth link", () => {
        expect(decodeLink(only(captured.vethLink).payload)).toEqual({
            index: 423,
            name: "nlcap0",
            kind: "veth",
            type: 1,
            mac: "02:00:00:00:00:01",
            mtu: 1450,
            up: false,
            running: false,
            loopback: false,
            promiscuous: false,
            peerIndex: 2,
            peerNetnsId: 0,
            alias: "ns/pod c0ffee",
            group: 0,
            altNames: ["a-name-longer-than-fifteen"],
        });
    });

    it("a NIC with its device", () => {
        expect(decodeLink(only(captured.nicLink).payload)).toEqual({
            index: 4,
            name: "eth0",
            type: 1,
            mac: "02:fc:00:00:00:01",
            mtu: 1400,
            up: true,
            running: true,
            loopback: false,
            promiscuous: false,
            parentDevice: "virtio2",
            group: 0,
            altNames: [],
        });
    });

    it("the id of a namespace, and that it has none", () => {
        expect(payloads(captured.netnsIds, 88).map(decodeNetnsId)).toEqual([undefined, 0]);
    });

    it("addresses of both families, one with a peer", () => {
        const decoded = payloads(captured.addresses, 20).map(decodeAddress);
        const common = { permanent: true, secondary: false, tentative: false, dadFailed: false, flags: 0x80 };
        const broadcast = { family: 4, value: 0x0a0102ffn };
        expect(decoded.map((address) => address && { ...address, ip: formatIp(address.ip) })).toEqual([
            { ...common, index: 1, ip: "127.0.0.1", prefixLength: 8, scope: 254, label: "lo" },
            { ...common, index: 2, ip: "10.1.2.3", prefixLength: 24, scope: 0, label: "eth0", broadcast },
            {
                ...common,
                index: 2,
                ip: "192.0.2.1",
                peer: { family: 4, value: 0xc0000202n },
                flags: 0x280,
                prefixLength: 32,
                scope: 0,
                label: "eth0",
            },
            { ...common, index: 1, ip: "::1", prefixLength: 128, scope: 254, protocol: 1 },
            { ...common, index: 2, ip: "fd00::3", prefixLength: 64, scope: 0, tentative: true, flags: 0xc0 },
        ]);
    });

    it("routes: large table, metric and MTU, gateway of the other family, blackhole, next hops, IPv6 default", () => {
        const text = (ip: IpAddress | undefined): string | undefined => ip && formatIp(ip);
        const decoded = payloads(captured.routes, 24).map((payload) => {
            const route = decodeRoute(payload);
            return (
                route && {
                    ...route,
                    dst: formatPrefix(route.dst),
                    via: text(route.via),
                    src: text(route.src),
                    nextHops: route.nextHops.map((hop) => ({ ...hop, via: text(hop.via) })),
                }
            );
        });
        const common = {
            family: 4,
            table: 254,
            protocol: 3,
            scope: 0,
            type: 1,
            metric: 0,
            onlink: false,
            cloned: false,
        };
        expect(decoded).toEqual([
            {
                ...common,
                dst: "198.51.100.0/24",
                via: "10.1.2.1",
                dev: 2,
                src: "10.1.2.3",
                table: 1000,
                protocol: 42,
                metric: 7,
                mtu: 1400,
                metrics: { 2: 1400 },
                nextHops: [],
            },
            { ...common, dst: "10.1.2.0/24", dev: 2, src: "10.1.2.3", protocol: 2, scope: 253, nextHops: [] },
            { ...common, dst: "100.64.0.0/10", via: "fe80::1", dev: 2, nextHops: [] },
            { ...common, dst: "100.128.0.0/10", type: 6, nextHops: [] },
            {
                ...common,
                dst: "203.0.113.0/24",
                nextHops: [
                    { via: "10.1.2.4", dev: 2, weight: 2, onlink: false },
                    { via: "10.9.9.9", dev: 2, weight: 1, onlink: true },
                ],
            },
            { ...common, family: 6, dst: "::/0", via: "fe80::1", dev: 2, metric: 1024, nextHops: [] },
        ]);
    });

    it("of a route that leads into a tunnel, uses a next hop object or expires, that it does", () => {
        const route = (attributes: string): string => "0a40000000090001" + "00000000" + attributes;
        expect(decodeRoute(fromHex(route("06001500" + "0100" + "0000" + "08001e00" + "4d000000")))).toMatchObject({
            encapType: 1,
            nextHopId: 77,
        });
        const expiry = "24000c00" + "00".repeat(8) + "30750000" + "00".repeat(20);
        expect(decodeRoute(fromHex(route(expiry)))).toMatchObject({ expiresSeconds: 300 });
    });

    it("neighbours, one without a MAC address", () => {
        const decoded = payloads(captured.neighbours, 28).map(decodeNeighbour);
        expect(decoded.map((neighbour) => neighbour && { ...neighbour, ip: formatIp(neighbour.ip) })).toEqual([
            { index: 2, ip: "10.1.2.10", state: 0x20, flags: 0 },
            { index: 2, ip: "10.1.2.9", mac: "02:00:00:00:00:09", state: 0x80, flags: 0 },
            { index: 2, ip: "fd00::9", mac: "02:00:00:00:00:0a", state: 0x02, flags: 0 },
        ]);
    });

    it.each([
        [
            "a refusal with the kernel's words",
            only(captured.refusal),
            { errno: 101, text: "Nexthop has invalid gateway" },
        ],
        ["a success", only(captured.success), { errno: 0 }],
        [
            "a refusal that repeats 5 bytes of the request before its reasons",
            {
                ...only(captured.refusal),
                flags: 0x200,
                payload: fromHex(
                    "edffffff" + "15000000" + "00".repeat(12) + "aabbccddee" + "000000",
                    "06000100" + "41000000" + "08000500" + "03000000",
                ),
            },
            { errno: 19, text: "A", missingAttribute: 3 },
        ],
    ])("%s", (_, frame, expected) => {
        expect(decodeAcknowledgement(frame)).toEqual(expected);
    });

    it("the end of a dump, with and without a result", () => {
        expect(decodeDone(only(captured.failedDump))).toEqual({ errno: 19 });
        expect(decodeDone({ type: 3, flags: 2, sequence: 1, payload: new Uint8Array() })).toEqual({ errno: 0 });
    });
});

describe("messages that break the rules", () => {
    it.each(DATAGRAMS)("%s: cut at any byte gives what is whole before it or SHORT_MESSAGE", (_, datagram) => {
        const whole = decodeEvents(datagram);
        for (let length = 0; length < datagram.length; length++) {
            const cut = datagram.subarray(0, length);
            try {
                const events = decodeEvents(cut);
                expect(whole.slice(0, events.length)).toEqual(events);
            } catch (error) {
                expect(error).toMatchObject({ code: "SHORT_MESSAGE" });
            }
        }
    });

    it.each(DATAGRAMS)("%s: any byte changed gives events or an error of ours", (_, datagram) => {
        fc.assert(
            fc.property(fc.nat(datagram.length - 1), fc.nat(255), (at, value) => {
                const changed = Uint8Array.from(datagram);
                changed[at] = value;
                try {
                    decodeEvents(changed);
                } catch (error) {
                    expect(error).toMatchObject({ code: expect.stringMatching(/^(SHORT|BAD)_MESSAGE$/) });
                }
            }),
        );
    });

    it.each([
        ["a frame shorter than its header", fromHex("0f0000001000000000000000000000000000"), "BAD_MESSAGE"],
        [
            "an IPv4 address with a prefix of 33 bits",
            frameOf(20, "0221000001000000" + "08000200" + "0a010203"),
            "BAD_MESSAGE",
        ],
        [
            "an IPv4 route to 16 bytes",
            frameOf(24, "02180000fe030001" + "00000000" + "14000100" + "00".repeat(16)),
            "BAD_MESSAGE",
        ],
        [
            "a next hop shorter than itself",
            frameOf(24, "02180000fe03000100000000" + "0c000900" + "0700000002000000"),
            "BAD_MESSAGE",
        ],
    ])("%s", (_, datagram, code) => {
        expect(() => decodeEvents(datagram)).toThrow(expect.objectContaining({ code }));
    });

    it.each([
        ["a port that leaves its bridge (AF_BRIDGE)", frameOf(17, "07000100050000000000000000000000")],
        ["an address of another family", frameOf(20, "0c18000001000000")],
        ["a route of another family", frameOf(24, "80180000fe03000100000000")],
        ["an entry of a bridge's forwarding table", frameOf(28, "070000000200000080000000")],
        ["an unknown type", frameOf(99, "")],
    ])("%s is passed over", (_, datagram) => {
        expect(decodeEvents(datagram)).toEqual([]);
    });
});

describe("frames", () => {
    it("come back as they went", () => {
        const frame = fc.record({
            type: fc.nat(0xffff),
            flags: fc.nat(0xffff),
            sequence: fc.nat(0xffffffff),
            payload: fc.uint8Array({ maxLength: 20 }),
        });
        fc.assert(
            fc.property(fc.array(frame), (frames) => {
                expect(decodeFrames(encodeFrames(frames))).toEqual(frames);
            }),
        );
    });
});

function frameOf(type: number, payload: string): Uint8Array {
    return encodeFrames([{ type, flags: 0, sequence: 1, payload: fromHex(payload) }]);
}
