import { describe, expect, it } from "@jest/globals";
import { parseIp, parsePrefix, type IpAddress } from "@antrea/ip";
import { addAddress, decodeAddress, deleteAddress } from "../../src/message/address.ts";
import { decodeFrames } from "../../src/message/frame.ts";
import { decodeLink, deleteLink, queryLink, setLink } from "../../src/message/link.ts";
import { createVeth } from "../../src/message/veth.ts";
import { addAltName, deleteAltName } from "../../src/message/alternative-name.ts";
import { decodeNeighbour, probeNeighbour, replaceNeighbour } from "../../src/message/neighbour.ts";
import { queryNetnsId } from "../../src/message/netns-id.ts";
import { appendRoute, deleteRoute, queryRoutes, replaceRoute } from "../../src/message/route.ts";
import { decodeRoute } from "../../src/message/decode-route.ts";
import { addAdvertisedRoute } from "../../src/system/advertised-route.ts";
import { type VethOptions } from "../../src/types/link.ts";
import { fromHex, netnsIdQuery } from "./captured.ts";
import fc from "fast-check";

const veth: VethOptions = {
    name: "pod-a",
    mac: "02:00:00:00:00:01",
    mtu: 1450,
    peer: { name: "eth0", mac: "02:00:00:00:00:02", mtu: 1450, netnsPath: "/netns/a" },
};

const ip: fc.Arbitrary<IpAddress> = fc.oneof(
    fc.bigInt(0n, 2n ** 32n - 1n).map((value) => ({ family: 4, value }) as const),
    fc.bigInt(0n, 2n ** 128n - 1n).map((value) => ({ family: 6, value }) as const),
);

describe("requests", () => {
    it("a veth pair, byte for byte", () => {
        const { type, flags, body, label } = createVeth({ ...veth, up: true }, 7);
        expect({ type, flags, label }).toEqual({
            type: 16,
            flags: 0x600,
            label: "create veth pod-a with peer eth0 in /netns/a",
        });
        const expected = fromHex(
            "00000000" + "00000000" + "01000000" + "01000000", // struct ifinfomsg: up
            "0a000300" + "706f642d6100" + "0000",
            "0a000100" + "020000000001" + "0000",
            "08000400" + "aa050000",
            "50001200" + "09000100" + "7665746800" + "000000", // IFLA_LINKINFO, kind "veth"
            "40000200" + "3c000100", // its data, the peer
            "00000000" + "00000000" + "00000000" + "00000000",
            "09000300" + "6574683000" + "000000",
            "0a000100" + "020000000002" + "0000",
            "08000400" + "aa050000",
            "08001c00" + "07000000", // IFLA_NET_NS_FD
        );
        expect(Buffer.from(body).toString("hex")).toBe(Buffer.from(expected).toString("hex"));
    });

    it("the id of a namespace, byte for byte", () => {
        const { type, flags, body } = queryNetnsId("/netns/a", 22);
        const [frame] = decodeFrames(netnsIdQuery);
        expect({ type, flags: flags | 1, payload: body }).toEqual({
            type: frame?.type,
            flags: frame?.flags,
            payload: frame?.payload,
        });
    });

    it("read back as the link they describe", () => {
        const { body } = setLink(5, {
            up: true,
            mtu: 9000,
            mac: "02:00:00:00:00:09",
            name: "x",
            alias: "ä",
            master: 3,
        });
        expect(decodeLink(body)).toMatchObject({
            index: 5,
            up: true,
            mtu: 9000,
            mac: "02:00:00:00:00:09",
            name: "x",
            alias: "ä",
            master: 3,
        });
    });

    it("put a long name where alternative names go", () => {
        expect(Buffer.from(queryLink("a-name-longer-than-fifteen").body.subarray(16, 20)).toString("hex")).toBe(
            "1f003500",
        );
        expect(Buffer.from(queryLink("eth0").body.subarray(16, 20)).toString("hex")).toBe("09000300");
    });

    it("addresses read back as they were", () => {
        fc.assert(
            fc.property(ip, fc.nat(32), fc.integer({ min: 1, max: 0x7fffffff }), (address, prefixLength, index) => {
                const { body } = addAddress({ index, ip: address, prefixLength });
                expect(decodeAddress(body)).toMatchObject({ index, ip: address, prefixLength });
            }),
        );
    });

    it("addresses read back with peer, lifetime, label, metric, flags and maker", () => {
        const whole = {
            index: 2,
            ip: parseIp("10.1.2.3"),
            prefixLength: 32,
            peer: parseIp("10.1.2.4"),
            scope: 253,
            label: "eth0:a",
            metric: 7,
            protocol: 3,
            flags: 0x200,
            broadcast: parseIp("10.1.2.9"),
            lifetime: { preferredSeconds: 0, validSeconds: Infinity },
        };
        expect(decodeAddress(addAddress(whole).body)).toMatchObject(whole);
        expect(decodeAddress(deleteAddress(whole).body)).toMatchObject({ ip: whole.ip, peer: whole.peer });
        const none = addAddress({ ...whole, broadcast: "none", lifetime: undefined }).body;
        expect(decodeAddress(none)).not.toHaveProperty("broadcast");
        expect(decodeAddress(none)).not.toHaveProperty("lifetime");
    });

    it.each([
        ["broadcast address", "10.1.2.3", 24, "080004000a0102ff"],
        ["none for a point-to-point prefix", "10.1.2.3", 31, ""],
        ["none for loopback", "127.0.0.1", 8, ""],
        ["none for IPv6", "fd00::1", 64, ""],
    ])("IPv4 addresses get their broadcast address: %s", (_, text, prefixLength, end) => {
        const { body } = addAddress({ index: 1, ip: parseIp(text), prefixLength });
        const hex = Buffer.from(body).toString("hex");
        expect(hex.slice(hex.lastIndexOf("0800080000000000") + 16)).toBe(end);
    });

    it("routes read back as they were", () => {
        fc.assert(
            fc.property(ip, ip, fc.nat(32), fc.nat(0xffffffff), (base, via, length, table) => {
                const bits = base.family === 4 ? 32n : 128n;
                const mask = ((1n << BigInt(length)) - 1n) << (bits - BigInt(length));
                const dst = { family: base.family, base: base.value & mask, length };
                const { body } = replaceRoute({ dst, via, dev: 3, table, metric: 9, mtu: 1400, onlink: true });
                const expected = { dst, via, dev: 3, table, metric: 9, mtu: 1400, onlink: true, protocol: 4, type: 1 };
                expect(decodeRoute(body)).toMatchObject(expected);
            }),
        );
    });

    it.each([
        ["link for what is on the link", { dst: parsePrefix("10.0.0.0/8"), dev: 2 }, 253],
        ["universe behind a gateway", { dst: parsePrefix("10.0.0.0/8"), dev: 2, via: parseIp("10.0.0.1") }, 0],
        ["host for local", { dst: parsePrefix("10.0.0.1/32"), dev: 2, type: 2 }, 254],
        ["universe for IPv6", { dst: parsePrefix("fd00::/64"), dev: 2 }, 0],
        ["universe for a blackhole", { dst: parsePrefix("10.0.0.0/8"), type: 6 }, 0],
        ["what is asked for", { dst: parsePrefix("10.0.0.0/8"), dev: 2, scope: 200 }, 200],
    ])("scope of a route: %s", (_, options, scope) => {
        expect(decodeRoute(replaceRoute(options).body)).toMatchObject({ scope });
    });

    it("a default route takes its family from the gateway, and a delete leaves open what is not given", () => {
        const via = parseIp("fe80::1");
        expect(decodeRoute(replaceRoute({ dst: "default", via, dev: 2 }).body)).toMatchObject({ family: 6, via });
        expect(decodeRoute(deleteRoute({ dst: "default", family: 4 }).body)).toMatchObject({
            family: 4,
            protocol: 0,
            scope: 255,
            type: 0,
        });
    });

    it("routes read back with all their attributes", () => {
        const four = {
            dst: parsePrefix("10.0.0.0/8"),
            dev: 2,
            via: parseIp("10.1.2.1"),
            src: parseIp("10.1.2.3"),
            tos: 0x10,
            table: 1000,
            metric: 5,
            realms: 0x10002,
            protocol: 99,
            metrics: { 1: 4, 2: 1400, 8: 1200, 16: "cubic" },
        };
        expect(decodeRoute(appendRoute(four).body)).toMatchObject({ ...four, mtu: 1400 });
        const six = { dst: parsePrefix("fd00::/64"), from: parsePrefix("fd01::/48"), dev: 2, preference: 3 };
        expect(decodeRoute(appendRoute(six).body)).toMatchObject(six);
        expect(Buffer.from(replaceRoute({ ...six, expiresSeconds: 300 }).body).toString("hex")).toContain(
            "080017002c010000",
        );
        expect(decodeRoute(replaceRoute({ ...six, mtu: 1300, metrics: { 2: 1400 } }).body)).toMatchObject({
            mtu: 1300,
        });
    });

    it("a neighbour is probed by its MAC address if that is known, else as a packet would", () => {
        const key = { index: 2, ip: parseIp("10.1.2.9") };
        expect(decodeNeighbour(probeNeighbour(key).body)).toEqual({ ...key, state: 0, flags: 1 });
        const mac = "02:00:00:00:00:09";
        expect(decodeNeighbour(probeNeighbour({ ...key, mac }).body)).toEqual({ ...key, mac, state: 0x10, flags: 0 });
    });

    it("alternative names are properties, nested as the kernel wants it", () => {
        const { type, flags, body } = addAltName(5, "ab");
        expect({ type, flags, hex: Buffer.from(body.subarray(16)).toString("hex") }).toEqual({
            type: 108,
            flags: 0xe00,
            hex: "0c00348007003500" + "61620000",
        });
        expect(decodeLink(deleteAltName(5, "ab").body)).toMatchObject({ index: 5, altNames: ["ab"] });
    });

    it("a link is set promiscuous without a word on whether it is up", () => {
        expect(Buffer.from(setLink(5, { promiscuous: true }).body.subarray(8)).toString("hex")).toBe(
            "0001000000010000",
        );
        expect(Buffer.from(setLink(5, { promiscuous: false, up: true }).body.subarray(8)).toString("hex")).toBe(
            "0100000001010000",
        );
    });

    it("neighbours read back as they were", () => {
        fc.assert(
            fc.property(ip, (address) => {
                const { body } = replaceNeighbour({ index: 2, ip: address, mac: "02:00:00:00:00:09" });
                const expected = { index: 2, ip: address, mac: "02:00:00:00:00:09", state: 0x80, flags: 0 };
                expect(decodeNeighbour(body)).toEqual(expected);
            }),
        );
    });
});

describe("arguments that cannot be sent", () => {
    const ip4 = parseIp("10.0.0.1");
    const dst = parsePrefix("10.0.0.0/8");
    const neighbour = { index: 2, ip: ip4, mac: "02:00:00:00:00:09" };
    const neighbourText = "neighbour 10.0.0.1 on link 2";
    it.each<readonly [string, () => unknown, string]>([
        ["name too long", () => createVeth({ ...veth, name: "a".repeat(16) }, 7), "at most 15|1 to 15"],
        ["name with a slash", () => createVeth({ ...veth, name: "a/b" }, 7), "without"],
        ["empty name", () => createVeth({ ...veth, name: "" }, 7), "1 to 15"],
        ["name of the peer", () => createVeth({ ...veth, peer: { ...veth.peer, name: ".." } }, 7), "1 to 15"],
        ["MTU", () => createVeth({ ...veth, mtu: 67 }, 7), "68 to 65535"],
        ["queues", () => createVeth({ ...veth, queues: 0 }, 7), "1 to 4096"],
        ["MTU that is no number", () => setLink(2, { mtu: Number.NaN }), "MTU of a link is NaN: 68 to 65535"],
        ["alias of 256 bytes", () => setLink(2, { alias: "ä".repeat(128) }), "at most 255 bytes"],
        ["alias with NUL", () => setLink(2, { alias: "a\0b" }), "NUL"],
        ["renaming by name", () => setLink("a", { name: "b" }), "by its index"],
        ["alternative name of 128 bytes", () => addAltName(1, "a".repeat(128)), "1 to 127"],
        [
            "lifetime",
            () =>
                addAddress({
                    index: 1,
                    ip: ip4,
                    prefixLength: 24,
                    lifetime: { preferredSeconds: 0.5, validSeconds: 1 },
                }),
            "whole seconds",
        ],
        ["index 0", () => deleteLink(0), "positive"],
        ["index that is no number", () => addAddress({ index: 1.5, ip: ip4, prefixLength: 24 }), "positive"],
        ["key of 128 bytes", () => queryLink("a".repeat(128)), "1 to 127"],
        ["prefix length", () => deleteAddress({ index: 1, ip: ip4, prefixLength: 33 }), "0 to 32"],
        ["route without link", () => replaceRoute({ dst: "default", via: ip4 }), "the index of a link is needed"],
        ["default route of no family", () => deleteRoute({ dst: "default", dev: 2 }), "4 or 6"],
        ...Object.entries({
            protocol: 256,
            scope: -1,
            metric: 1.5,
            flags: -1,
        }).map(
            ([field, value]) =>
                [
                    `${field} of an address`,
                    () => addAddress({ index: 1, ip: ip4, prefixLength: 24, [field]: value }),
                    `^${field} of address 10.0.0.1/24 on link 1 is ${value}: 0 to \\d+ allowed$`,
                ] as const,
        ),
        ...Object.entries({
            tos: 256,
            protocol: 256,
            scope: -1,
            type: 256,
            preference: 300,
            metric: 1.5,
            realms: -1,
            expiresSeconds: Infinity,
            mtu: Number.NaN,
        }).map(
            ([field, value]) =>
                [
                    `${field} of a route`,
                    () => replaceRoute({ dst: "default", via: ip4, dev: 2, [field]: value }),
                    `^${field} of route default via 10.0.0.1 on link 2 is ${value}: 0 to \\d+ allowed$`,
                ] as const,
        ),
        ["metrics of a route", () => replaceRoute({ dst, dev: 2, metrics: { 8: -1 } }), "^metrics of route 10.0.0.0/8"],
        ["length of a route", () => deleteRoute({ dst: { ...dst, length: 300 } }), "^prefix length of route 10.0.0.0"],
        [
            "length of the source of a route",
            () => deleteRoute({ dst, from: { ...dst, length: 300 } }),
            "^source prefix length of route 10.0.0.0/8 is 300",
        ],
        [
            "protocol of a filter",
            () => queryRoutes(4, { protocol: 256 }),
            "^protocol of the filter of IPv4 routes is 256",
        ],
        ["master", () => setLink(2, { master: -1 }), "^master of link 2 is -1: 0 to 4294967295 allowed$"],
        [
            "state of a neighbour",
            () => replaceNeighbour({ ...neighbour, state: 65_536 }),
            `^state of ${neighbourText} is`,
        ],
        ["flags of a neighbour", () => replaceNeighbour({ ...neighbour, flags: 256 }), `^flags of ${neighbourText} is`],
        [
            "time of an advertised route",
            () => addAdvertisedRoute({ index: 1, via: parseIp("fe80::1"), metric: 1, expiresSeconds: Infinity }),
            "expiresSeconds of an advertised route is Infinity",
        ],
        [
            "preference of an advertised route",
            () =>
                addAdvertisedRoute({ index: 1, via: parseIp("fe80::1"), metric: 1, expiresSeconds: 1, preference: 4 }),
            "0 to 3",
        ],
        ["table", () => deleteRoute({ dst: "default", family: 4, table: 2 ** 32 }), "32-bit"],
    ])("%s", (_, build, rule) => {
        expect(build).toThrow(expect.objectContaining({ code: "BAD_ARGUMENT", message: expect.stringMatching(rule) }));
    });

    it("an alias of 255 bytes can", () => {
        expect(decodeLink(setLink(2, { alias: "a".repeat(255) }).body)).toMatchObject({ alias: "a".repeat(255) });
    });
});
