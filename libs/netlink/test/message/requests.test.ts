import { describe, expect, it } from "@jest/globals";
import { parseIp, parsePrefix } from "@antrea/ip";
import { decodeAcknowledgement, decodeDone } from "../../src/message/acknowledgement.ts";
import { addAddress, decodeAddress, deleteAddress, queryAddresses, replaceAddress } from "../../src/message/address.ts";
import { Attributes } from "../../src/message/attributes.ts";
import { Writer } from "../../src/message/writer.ts";
import { decodeFrames } from "../../src/message/frame.ts";
import { decodeLink, deleteLink, queryLink, queryLinks, setLink } from "../../src/message/link.ts";
import { createVeth } from "../../src/message/veth.ts";
import { checkedName, linkIndex } from "../../src/message/link-checks.ts";
import { addAltName, deleteAltName } from "../../src/message/alternative-name.ts";
import { deleteNeighbour, probeNeighbour, queryNeighbours, replaceNeighbour } from "../../src/message/neighbour.ts";
import { decodeNetnsId, queryNetnsId } from "../../src/message/netns-id.ts";
import { type Query, type Request } from "../../src/message/request.ts";
import { addRoute, appendRoute, deleteRoute, queryRoutes, replaceRoute } from "../../src/message/route.ts";
import { decodeRoute } from "../../src/message/decode-route.ts";
import { addRule, decodeRule, deleteRule, queryRules } from "../../src/message/rule.ts";
import { fromHex } from "./captured.ts";

const ip = parseIp("10.1.2.3");
const dst = parsePrefix("10.0.0.0/8");
const mac = "02:00:00:00:00:09";
const veth = {
    name: "pod-a",
    mac: "02:00:00:00:00:01",
    mtu: 1450,
    peer: { name: "eth0", mac: "02:00:00:00:00:02", mtu: 1450, netnsPath: "/netns/a" },
};
const rule = { family: 4, priority: 181, table: 300, mark: 0x10, mask: 0x30, protocol: 99 } as const;
const hexOf = ({ body }: Query, from = 0): string => Buffer.from(body.subarray(from)).toString("hex");
const refusal = (rule: string): unknown =>
    expect.objectContaining({ code: "BAD_ARGUMENT", fault: "caller", message: expect.stringMatching(rule) });

describe("a request", () => {
    // The name in errors, and the answers to a deletion that mean that the object does not exist.
    it.each<[Query & Pick<Request, "absentCodes">, number, number, string, readonly string[]]>([
        [queryLinks(), 18, 0x300, "list links", []],
        [queryLink(5), 18, 0, "get link 5", []],
        [queryLink("eth0"), 18, 0, "get link eth0", []],
        [setLink(5, { mtu: 1400, up: false }), 19, 0, "set link 5: mtu 1400, up false", []],
        [setLink("a", { up: true, alias: undefined }), 19, 0, "set link a: up true", []],
        [addAltName(5, "ab"), 108, 0xe00, "add alternative name ab to link 5", []],
        [deleteAltName(5, "ab"), 109, 0, "delete alternative name ab of link 5", ["ENOENT", "ENODEV"]],
        [deleteLink("eth0"), 17, 0, "delete link eth0", ["ENODEV"]],
        [queryNetnsId("/netns/a", 22), 90, 0, "get the id of network namespace /netns/a", []],
        [queryAddresses(), 22, 0x300, "list addresses of all links", []],
        [queryAddresses(3), 22, 0x300, "list addresses of link 3", []],
        [addAddress({ index: 2, ip, prefixLength: 24 }), 20, 0x600, "add address 10.1.2.3/24 on link 2", []],
        [replaceAddress({ index: 2, ip, prefixLength: 24 }), 20, 0x500, "replace address 10.1.2.3/24 on link 2", []],
        [
            deleteAddress({ index: 2, ip, prefixLength: 24 }),
            ...([21, 0, "delete address 10.1.2.3/24 on link 2", ["EADDRNOTAVAIL", "ENODEV"]] as const),
        ],
        [queryRoutes(4, {}), 26, 0x300, "list IPv4 routes", []],
        [queryRoutes(6, {}), 26, 0x300, "list IPv6 routes", []],
        [addRoute({ dst, dev: 2 }), 24, 0x600, "add route 10.0.0.0/8 on link 2", []],
        [replaceRoute({ dst, dev: 2 }), 24, 0x500, "replace route 10.0.0.0/8 on link 2", []],
        [
            appendRoute({ dst: "default", via: ip, dev: 2, table: 7 }),
            ...([24, 0xc00, "append route default via 10.1.2.3 on link 2 in table 7", []] as const),
        ],
        [deleteRoute({ dst }), 25, 0, "delete route 10.0.0.0/8", ["ESRCH", "ENODEV"]],
        [queryRules(), 34, 0x300, "list rules", []],
        [addRule(rule), 32, 0x600, "add IPv4 rule 181: mark 0x10/0x30 to table 300", []],
        [deleteRule(rule), 33, 0, "delete IPv4 rule 181: mark 0x10/0x30 to table 300", ["ENOENT"]],
        [queryNeighbours(), 30, 0x300, "list neighbours of all links", []],
        [queryNeighbours(3), 30, 0x300, "list neighbours of link 3", []],
        [replaceNeighbour({ index: 2, ip, mac }), 28, 0x500, `replace neighbour 10.1.2.3 (${mac}) on link 2`, []],
        [probeNeighbour({ index: 2, ip }), 28, 0x500, "probe neighbour 10.1.2.3 on link 2", []],
        [deleteNeighbour({ index: 2, ip }), 29, 0, "delete neighbour 10.1.2.3 on link 2", ["ENOENT", "ENODEV"]],
    ])("%#: has the type, the flags and the name that it should", (request, type, flags, label, absentCodes) => {
        expect(request).toMatchObject({ type, flags, label });
        expect(request.absentCodes ?? []).toEqual(absentCodes);
    });

    it.each<[string, Query, string]>([
        ["for all links, without counters", queryLinks(), "00".repeat(16) + "08001d0008000000"],
        ["for one link", queryLink(5), "0000000005000000" + "00".repeat(8) + "08001d0008000000"],
        ["for all addresses", queryAddresses(), "0000000000000000"],
        ["for the addresses of a link", queryAddresses(3), "0000000003000000"],
        ["for all IPv4 routes", queryRoutes(4, {}), "020000000000000000000000"],
        [
            "for IPv6 routes that a program made in a table of a link",
            queryRoutes(6, { table: 255, protocol: 4, dev: 3 }),
            "0a000000ff04000000000000" + "0800040003000000",
        ],
        [
            "for routes of a table with a large number",
            queryRoutes(4, { table: 256 }),
            "020000000000000000000000" + "08000f0000010000",
        ],
        [
            "for all rules, of all families as one that is not there is refused",
            queryRules(),
            "000000000000000000000000",
        ],
        [
            "to add a rule",
            addRule(rule),
            "020000000000000100000000" +
                "08000600b5000000" +
                "08000f002c010000" +
                "08000a0010000000" +
                "0800100030000000" +
                "0500150063000000",
        ],
        ["for all neighbours", queryNeighbours(), "00".repeat(12)],
        ["for the neighbours of a link", queryNeighbours(3), "00".repeat(12) + "0800080003000000"],
        [
            "to delete a neighbour",
            deleteNeighbour({ index: 2, ip }),
            "02000000" + "02000000" + "00000000" + "080001000a010203",
        ],
        [
            "for a neighbour with flags and a state of its own",
            replaceNeighbour({ index: 2, ip, mac, state: 0x40, flags: 0x80 }),
            "02000000" + "02000000" + "40008000" + "080001000a010203" + "0a000200" + "020000000009" + "0000",
        ],
        ["to delete a link", deleteLink(5), "0000000005000000" + "00".repeat(8)],
        [
            "to delete an address",
            deleteAddress({ index: 2, ip, prefixLength: 24 }),
            "02180000" + "02000000" + "080002000a010203" + "080001000a010203",
        ],
    ])("%s is the bytes that the kernel reads", (_, request, expected) => {
        expect(hexOf(request)).toBe(expected);
    });

    it("a rule is read as it was written", () => {
        expect(decodeRule(addRule(rule).body)).toEqual(rule);
        expect(decodeRule(Uint8Array.of(10, ...new Uint8Array(11)))).toEqual({
            family: 6,
            priority: 0,
            table: 0,
            mark: 0,
            mask: 0,
            protocol: 0,
        });
        expect(decodeRule(new Uint8Array(12))).toBeUndefined();
    });

    it("for a veth pair has the group of this end and the queues of both", () => {
        const hex = hexOf(createVeth({ ...veth, group: 9, queues: 3 }, 7));
        expect(hex.slice(0, 32)).toBe("00".repeat(16));
        expect(hex.split("08001b0009000000")).toHaveLength(2);
        expect(hex.split("08001f0003000000" + "0800200003000000")).toHaveLength(3);
    });

    it("to change a link has what is to be changed, and no more", () => {
        expect(hexOf(setLink(5, {}))).toBe("0000000005000000" + "00".repeat(8));
        expect(hexOf(setLink(5, { group: 0, master: 0 }), 16)).toBe("08001b0000000000" + "08000a0000000000");
        expect(hexOf(setLink(5, {}, 7), 16)).toBe("08001c0007000000");
        expect(hexOf(setLink("eth0", { up: false }), 8)).toBe("0000000001000000" + "09000300" + "6574683000000000");
    });

    it("for an address has the flags of its options", () => {
        const flagsOf = (text: string, o: { noDad?: boolean; noPrefixRoute?: boolean; flags?: number }): unknown =>
            decodeAddress(addAddress({ index: 2, ip: parseIp(text), prefixLength: 24, ...o }).body)?.flags;
        expect(flagsOf("fd00::1", { noDad: true, noPrefixRoute: true })).toBe(0x202);
        expect(flagsOf("10.1.2.3", { noDad: true, flags: 0x80 })).toBe(0x80);
        expect(flagsOf("fd00::1", { noDad: false, noPrefixRoute: false })).toBe(0);
        expect(decodeAddress(addAddress({ index: 2, ip: parseIp("127.1.2.3"), prefixLength: 8 }).body)?.scope).toBe(
            254,
        );
        expect(decodeAddress(addAddress({ index: 2, ip: parseIp("fd00::1"), prefixLength: 128 }).body)?.scope).toBe(0);
        expect(decodeAddress(addAddress({ index: 2, ip, prefixLength: 24, scope: 253 }).body)).not.toHaveProperty(
            "peer",
        );
    });

    it("for a route names its gateway by family, and its table in as few bytes as hold it", () => {
        const head = "02080000fe04000100000000" + "080001000a000000";
        expect(hexOf(replaceRoute({ dst, via: ip, dev: 2 }))).toBe(head + "080005000a010203" + "0800040002000000");
        const six = "fe800000000000000000000000000001";
        expect(hexOf(replaceRoute({ dst, via: parseIp("fe80::1"), dev: 2 }))).toBe(
            head + "160012000a00" + six + "0000" + "0800040002000000",
        );
        expect(hexOf(deleteRoute({ dst, table: 255 }))).toBe("02080000ff00ff0000000000" + "080001000a000000");
        expect(hexOf(deleteRoute({ dst, table: 256 }))).toBe(
            "020800000000ff0000000000" + "080001000a000000" + "08000f0000010000",
        );
        expect(hexOf(deleteRoute({ dst: parsePrefix("0.0.0.0/0") }))).toBe(
            hexOf(deleteRoute({ dst: "default", family: 4 })),
        );
    });

    it("for a route has the usual values of what is not given", () => {
        expect(hexOf(replaceRoute({ dst, dev: 2 }))).toBe(
            "02080000fe04fd0100000000" + "080001000a000000" + "0800040002000000",
        );
        expect(decodeRoute(replaceRoute({ dst, type: 7 }).body)).toMatchObject({ type: 7, table: 254 });
        expect(decodeRoute(deleteRoute({ dst, type: 6, protocol: 9, scope: 7 }).body)).toMatchObject({
            type: 6,
            protocol: 9,
            scope: 7,
        });
        expect(decodeRoute(replaceRoute({ dst: "default", src: parseIp("fd00::1"), dev: 2 }).body)?.family).toBe(6);
        for (const type of [6, 7, 8, 9]) expect(decodeRoute(deleteRoute({ dst, type }).body)?.type).toBe(type);
        expect(() => replaceRoute({ dst, type: 2 })).toThrow(refusal("^dev of route 10.0.0.0/8 is undefined"));
    });
});

describe("the limits of an argument", () => {
    it.each<[string, number, number, (value: number) => unknown]>([
        ["MTU of a link", 68, 65_535, (mtu) => setLink(2, { mtu })],
        ["group of a link", 0, 2_147_483_647, (group) => setLink(2, { group })],
        ["group of a link", 0, 2_147_483_647, (group) => createVeth({ ...veth, group }, 7)],
        ["queues of a veth pair", 1, 4_096, (queues) => createVeth({ ...veth, queues }, 7)],
        ["index of a link", 1, 2_147_483_647, linkIndex],
        ["table of a route", 0, 4_294_967_295, (table) => queryRoutes(4, { table })],
        ["prefix length of 10.1.2.3", 0, 32, (prefixLength) => addAddress({ index: 1, ip, prefixLength })],
        [
            "prefix length of fd00::1",
            ...([0, 128] as const),
            (prefixLength) => addAddress({ index: 1, ip: parseIp("fd00::1"), prefixLength }),
        ],
        [
            "lifetime of an address",
            ...([0, 4_294_967_294] as const),
            (validSeconds) =>
                addAddress({ index: 1, ip, prefixLength: 24, lifetime: { preferredSeconds: 0, validSeconds } }),
        ],
    ])("%s: %i to %i", (what, least, most, use) => {
        expect(() => use(least)).not.toThrow();
        expect(() => use(most)).not.toThrow();
        expect(() => use(least - 1)).toThrow(refusal(`^${what} is `));
        expect(() => use(most + 1)).toThrow(refusal(`^${what} is `));
        expect(() => use(least + 0.5)).toThrow(refusal(`^${what} is `));
        expect(() => use(Number.NaN)).toThrow(refusal(`^${what} is `));
    });

    it.each([
        ["an empty name", "", false],
        ["a name of 15 bytes", "a".repeat(15), true],
        ["a name of 16 bytes", "ä".repeat(8), false],
        ["a slash", "a/b", false],
        ["a colon", "a:b", false],
        ["a space", "a b", false],
        ["a tab", "a\tb", false],
        ["a NUL", "a\0b", false],
        [".", ".", false],
        ["..", "..", false],
        ["...", "...", true],
    ])("name of a link: %s", (_, name, isGood) => {
        if (isGood) expect(checkedName(name)).toBe(name);
        else expect(() => checkedName(name)).toThrow(refusal("^name of a link is .*1 to 15 bytes"));
    });

    it("name to find a link by, and alternative name: 1 to 127 bytes", () => {
        const long = "a".repeat(127);
        expect(hexOf(queryLink(long), 16).slice(0, 8)).toBe("84003500");
        expect(decodeLink(addAltName(5, long).body)?.altNames).toEqual([long]);
        expect(hexOf(queryLink("a".repeat(15)), 16).slice(0, 8)).toBe("14000300");
        expect(hexOf(queryLink("a".repeat(16)), 16).slice(0, 8)).toBe("15003500");
        expect(() => queryLink("")).toThrow(refusal('^name of a link is "": 1 to 127'));
        expect(() => queryLink("ä".repeat(64))).toThrow(refusal("^name of a link is "));
        expect(() => addAltName(5, "")).toThrow(refusal('^alternative name of a link is "": 1 to 127'));
        expect(() => deleteAltName(0, "a")).toThrow(refusal("^index of a link is 0"));
        expect(() => setLink("a", { name: "b" })).toThrow(refusal('^new name of link a is "b"'));
        expect(() => setLink(2, { alias: "a\0" })).toThrow(refusal("^alias of a link is "));
        expect(() => deleteRoute({ dst: "default" })).toThrow(refusal("^family of the default route is undefined"));
    });

    it("length of a message and of an attribute", () => {
        expect(() => new Writer({ maxBytes: 8 }).u32(1).u32(2).u8(3)).toThrow(refusal("9 bytes: at most 8 allowed"));
        const large = new Uint8Array(0xfffc);
        expect(() => new Writer({ maxBytes: 0x20000 }).attribute(1, large)).toThrow(
            refusal("65536 bytes: at most 65535"),
        );
        expect(new Writer({ maxBytes: 0x20000 }).attribute(1, large.subarray(1)).finish()).toHaveLength(0x10000);
        expect(() => new Writer().bytes(new Uint8Array(16_385))).toThrow(refusal("16385 bytes: at most 16384"));
    });
});

describe("what the kernel reports against its own rules", () => {
    const fault = (code: string, text: string): unknown =>
        expect.objectContaining({ code, fault: "remote", message: `netlink ${text}` });

    it.each<[() => unknown, string, string]>([
        [
            () => decodeAddress(fromHex("0221000001000000", "08000200", "0a010203")),
            ...(["BAD_MESSAGE", "address on link 1: prefix length 33, at most 32 for IPv4"] as const),
        ],
        [
            () => decodeRoute(fromHex("0a810000fe030001", "00000000")),
            ...(["BAD_MESSAGE", "route: prefix length 129, at most 128 for IPv6"] as const),
        ],
        [
            () => decodeRoute(fromHex("02082100fe030001", "00000000", "08000200", "0a000000")),
            ...(["BAD_MESSAGE", "route, source: prefix length 33, at most 32 for IPv4"] as const),
        ],
        [
            () => decodeRoute(fromHex("02180000fe030001", "00000000", "0c000900", "0700000002000000")),
            ...(["BAD_MESSAGE", "route: a next hop of 7 bytes; it has 8 at least"] as const),
        ],
        [
            () => decodeRoute(fromHex("02180000fe030001", "00000000", "0c000900", "0900000002000000")),
            ...(["SHORT_MESSAGE", "route, next hops: 1 bytes needed at offset 8, 0 are there"] as const),
        ],
        [
            () => decodeRoute(fromHex("02180000fe030001", "00000000", "08000c00", "00000000")),
            ...(["SHORT_MESSAGE", "route, expiry: 8 bytes needed at offset 0, 4 are there"] as const),
        ],
        [
            () => decodeRoute(fromHex("02180000fe030001", "00000000", "06001200", "0a000000")),
            ...([
                "SHORT_MESSAGE",
                "route, gateway of another family: 16 bytes needed at offset 2, 0 are there",
            ] as const),
        ],
        [
            () => decodeRoute(fromHex("02180000fe030001", "00000000", "0a000800", "060002000102", "0000")),
            ...(["BAD_MESSAGE", "route, attribute 8: attribute 2: 4 bytes expected, it has 2"] as const),
        ],
        [
            () => decodeLink(fromHex("00000100", "05000000", "00000000", "00000000", "06000400", "01020000")),
            ...(["BAD_MESSAGE", "link 5: attribute 4: 4 bytes expected, it has 2"] as const),
        ],
        [
            () => decodeLink(fromHex("00000100", "05000000", "00000000", "00000000", "08003400", "03003500")),
            ...([
                "BAD_MESSAGE",
                "link 5, properties: attribute 53: its length is 3, less than its own header",
            ] as const),
        ],
        [
            () => decodeNetnsId(fromHex("00000000", "06000100", "0000")),
            ...(["BAD_MESSAGE", "namespace id: attribute 1: 4 bytes expected, it has 2"] as const),
        ],
        [
            () => decodeNetnsId(fromHex("00")),
            ...(["SHORT_MESSAGE", "namespace id: 4 bytes needed at offset 0, 1 are there"] as const),
        ],
        [() => decodeLink(fromHex("0000")), "SHORT_MESSAGE", "link: 2 bytes needed at offset 2, 0 are there"],
        [
            () => new Attributes(fromHex("060001000102"), "test").ip(1, 4),
            ...(["BAD_MESSAGE", "test: attribute 1: 4 bytes expected, it has 2"] as const),
        ],
        [
            () => new Attributes(fromHex("0800"), "test"),
            ...(["SHORT_MESSAGE", "attributes of test: 2 bytes needed at offset 2, 0 are there"] as const),
        ],
        [
            () => decodeFrames(fromHex("0f00000010000000", "00000000", "00000000")),
            ...(["BAD_MESSAGE", "datagram: message type 16 has length 15, less than its own header of 16"] as const),
        ],
        [() => decodeFrames(fromHex("1000")), "SHORT_MESSAGE", "datagram: 4 bytes needed at offset 0, 2 are there"],
        [
            () => decodeDone({ type: 3, flags: 0, sequence: 1, payload: fromHex("0000") }),
            ...(["SHORT_MESSAGE", "end of a dump: 4 bytes needed at offset 0, 2 are there"] as const),
        ],
        [
            () => decodeAcknowledgement({ type: 2, flags: 0, sequence: 1, payload: fromHex("0000") }),
            ...(["SHORT_MESSAGE", "acknowledgement: 4 bytes needed at offset 0, 2 are there"] as const),
        ],
    ])("%#: is reported with what and where it is", (decode, code, text) => {
        expect(decode).toThrow(fault(code, text));
    });

    it("is taken for nothing where that has a meaning: no name, no MAC address, no MTU, no destination", () => {
        expect(decodeLink(fromHex("00000100", "05000000", "00000000", "00000000"))).toStrictEqual({
            index: 5,
            name: "",
            type: 1,
            mac: "",
            mtu: 0,
            group: 0,
            altNames: [],
            up: false,
            running: false,
            loopback: false,
            promiscuous: false,
        });
        expect(decodeRoute(fromHex("02000000fe030001", "00000000"))).toStrictEqual({
            family: 4,
            dst: parsePrefix("0.0.0.0/0"),
            table: 254,
            protocol: 3,
            scope: 0,
            type: 1,
            metric: 0,
            onlink: false,
            cloned: false,
            nextHops: [],
        });
        expect(decodeAddress(fromHex("0218000001000000"))).toBeUndefined();
        expect(decodeNetnsId(fromHex("00000000"))).toBeUndefined();
    });
});

describe("what only some routes and addresses have", () => {
    const route = (...attributes: readonly string[]): unknown =>
        decodeRoute(fromHex("02080000fe030001", "00000000", ...attributes));

    it("is left out where the kernel reports that it is nothing: expiry, encapsulation, metrics, preference", () => {
        const none = route("20000c00", "00".repeat(28), "06001500", "00000000", "04000800", "05001400", "00000000");
        for (const field of ["expiresSeconds", "encapType", "metrics", "preference", "tos", "mtu"]) {
            expect(none).not.toHaveProperty(field);
        }
    });

    it("is reported: the rest of its life in seconds, never less than none", () => {
        expect(route("10000c00", "0000000000000000", "2c010000")).toMatchObject({ expiresSeconds: 3 });
        expect(route("10000c00", "0000000000000000", "9cffffff")).toMatchObject({ expiresSeconds: 0 });
        expect(route("06001500", "0600", "0000")).toMatchObject({ encapType: 6 });
    });

    it("is given for an address by its flags, of which one has another meaning for IPv6", () => {
        const flagsOf = (family: string, flags: string): string => {
            const address = decodeAddress(
                fromHex(
                    `${family}1800fe01000000`,
                    "08000800",
                    flags,
                    family === "02" ? "08000200" + "0a010203" : "14000200" + "00".repeat(15) + "01",
                ),
            );
            const { permanent, secondary, tentative, dadFailed } = address ?? {};
            return Object.entries({ permanent, secondary, tentative, dadFailed })
                .flatMap(([name, isSet]) => (isSet === true ? [name] : []))
                .join(" ");
        };
        expect(flagsOf("02", "00000000")).toBe("");
        expect(flagsOf("02", "81000000")).toBe("permanent secondary");
        expect(flagsOf("0a", "81000000")).toBe("permanent");
        expect(flagsOf("0a", "48000000")).toBe("tentative dadFailed");
    });

    it("is given for a route: that it was made of another, and of a link which names are alternative ones", () => {
        expect(decodeRoute(fromHex("02080000fe030001", "00020000"))).toMatchObject({ cloned: true, onlink: false });
        expect(decodeRoute(fromHex("02080000fe030001", "04000000"))).toMatchObject({ cloned: false, onlink: true });
        const properties = "1400348" + "0" + "06003500" + "6100" + "0000" + "06003600" + "6200" + "0000";
        expect(decodeLink(fromHex("00000100", "05000000", "00000000", "00000000", properties))?.altNames).toEqual([
            "a",
        ]);
    });

    it("is given for an address: a lifetime of which one part ends", () => {
        const address = (seconds: string): unknown =>
            decodeAddress(fromHex("0218000001000000", "08000200", "0a010203", "14000600", seconds, "00".repeat(8)));
        expect(address("ffffffffffffffff")).not.toHaveProperty("lifetime");
        expect(address("05000000ffffffff")).toMatchObject({
            lifetime: { preferredSeconds: 5, validSeconds: Infinity },
        });
        expect(address("ffffffff06000000")).toMatchObject({
            lifetime: { preferredSeconds: Infinity, validSeconds: 6 },
        });
        expect(address("0500000006000000")).toMatchObject({ lifetime: { preferredSeconds: 5, validSeconds: 6 } });
    });
});
