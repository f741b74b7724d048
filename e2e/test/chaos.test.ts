import { describe, expect, it } from "@jest/globals";
import { checked, nothingFound } from "../chaos/checks.ts";
import { shared } from "../chaos/ports.ts";
import { longestLoss } from "../chaos/report.ts";
import { findQuarrels, readSpeech, type Speech } from "../chaos/wire.ts";
import { gapsBetween } from "../fixture/watched-way.ts";

describe("what is announced on the wire", () => {
    const mac = "02:00:00:00:00:01";
    const head = `1763800000.250000 ${mac} > ff:ff:ff:ff:ff:ff, ethertype`;
    const at = 1_763_800_000_250;

    it.each([
        {
            what: "an ARP request",
            line: `${head} ARP (0x0806), length 42: Request who-has 10.0.0.2 tell 10.0.0.1, length 28`,
            expected: { address: "10.0.0.1" },
        },
        {
            what: "an ARP reply with a tag",
            line: `${head} 802.1Q (0x8100), length 46: vlan 2, p 0, ethertype ARP (0x0806), Reply 10.0.0.1 is-at ${mac}, length 28`,
            expected: { address: "10.0.0.1", vlan: 2 },
        },
        {
            what: "an ARP request sent to one MAC address",
            line: `${head} ARP (0x0806), length 42: Request who-has 10.0.0.2 (02:00:00:00:00:02) tell 10.0.0.1, length 28`,
            expected: { address: "10.0.0.1" },
        },
        {
            what: "an ARP announcement",
            line: `${head} ARP (0x0806), length 42: Request who-has 10.0.0.1 tell 10.0.0.1, length 28`,
            expected: { address: "10.0.0.1", announces: true },
        },
        {
            what: "a neighbour advertisement that was asked for",
            line: `${head} IPv6 (0x86dd), length 86: fd00::1 > fd00::2: ICMP6, neighbor advertisement, tgt is fd00::1, length 32`,
            expected: { address: "fd00::1" },
        },
        {
            what: "one that nobody asked for, with a tag",
            line: `${head} 802.1Q (0x8100), length 90: vlan 3, p 0, ethertype IPv6 (0x86dd), fd00::1 > ff02::1: ICMP6, neighbor advertisement, tgt is fd00::1, length 32`,
            expected: { address: "fd00::1", vlan: 3, announces: true },
        },
        {
            what: "a neighbour solicitation",
            line: `${head} IPv6 (0x86dd), length 86: fd00::1 > ff02::1:ff00:2: ICMP6, neighbor solicitation, who has fd00::2, length 32`,
            expected: { address: "fd00::1" },
        },
    ])("is read from $what", ({ line, expected }) => {
        expect(readSpeech("n1", line)).toEqual({ at, node: "n1", vlan: 0, mac, announces: false, ...expected });
    });

    it.each([
        `${head} ARP (0x0806), length 42: Request who-has 10.0.0.1 tell 0.0.0.0, length 28`,
        `${head} IPv6 (0x86dd), length 78: :: > ff02::1:ff00:1: ICMP6, neighbor solicitation, who has fd00::1, length 24`,
        `${head} IPv4 (0x0800), length 98: 10.0.0.1 > 10.0.0.2: ICMP echo request, id 1, seq 1, length 64`,
        "listening on eth0, link-type EN10MB (Ethernet), snapshot length 256 bytes",
    ])("is nothing in %s", (line) => {
        expect(readSpeech("n1", line)).toBeUndefined();
    });

    const say = (time: number, mac: string, more: Partial<Speech> = {}): Speech => ({
        at: time,
        node: "n1",
        vlan: 0,
        address: "10.0.0.1",
        mac,
        announces: false,
        ...more,
    });
    const announces = { announces: true };

    it("is no quarrel when an address goes from one to the next, in each VLAN", () => {
        const inTurn = [say(0, "a"), say(500, "a"), say(1_000, "b"), say(2_000, "b"), say(3_000, "c")];
        expect(findQuarrels(inTurn)).toEqual([]);
        const [two, three] = [{ vlan: 2 }, { vlan: 3 }];
        expect(findQuarrels([say(0, "a", two), say(500, "b", three), say(1_000, "a", two)])).toEqual([]);
    });

    it("is no quarrel when a frame of the first was on its way", () => {
        expect(findQuarrels([say(0, "a"), say(10, "b"), say(12, "a")])).toEqual([]);
    });

    it("is a quarrel when the first speaks again after the second, in whatever order it was heard", () => {
        const quarrel = (first: string, second: string) => ({
            vlan: 0,
            address: "10.0.0.1",
            frames: [
                { by: first, at: 0 },
                { by: second, at: 1_000 },
                { by: first, at: 2_000 },
            ],
        });
        expect(findQuarrels([say(2_000, "a"), say(0, "a"), say(1_000, "b")])).toEqual([quarrel("n1 a", "n1 b")]);
        const elsewhere = { node: "n2" };
        expect(findQuarrels([say(0, "a"), say(1_000, "a", elsewhere), say(2_000, "a")])).toEqual([
            quarrel("n1 a", "n2 a"),
        ]);
    });

    it("is no quarrel when the first comes back as a new Pod, but when the second goes on then", () => {
        const back = [say(0, "a"), say(1_000, "b"), say(2_000, "a", announces), say(2_100, "a")];
        expect(findQuarrels(back)).toEqual([]);
        expect(findQuarrels([...back, say(3_000, "b")])).toMatchObject([
            { frames: [{ by: "n1 b" }, { by: "n1 a" }, {}] },
        ]);
    });
});

describe("ports of all Nodes", () => {
    const port = (node: string, pod: string, address = "10.0.0.1") => ({ node, pod, address });

    it("share an address when two Pods have it", () => {
        expect(shared([port("n1", "d/a"), port("n2", "d/b"), port("n1", "d/c", "10.0.0.2")])).toEqual([
            "10.0.0.1: d/a on n1 and d/b on n2",
        ]);
        expect(shared([port("n1", "d/a"), port("n2", "d/a")])).toHaveLength(1);
    });

    it("share none when a Pod's sandbox was made anew", () => {
        expect(shared([port("n1", "d/a"), port("n1", "d/a")])).toEqual([]);
    });
});

describe("losses", () => {
    it("are the pauses between answers, and one until the end", () => {
        expect(gapsBetween([0, 200, 1_200, 1_400], 5_000, 700)).toEqual([
            { from: 200, to: 1_200, ms: 1_000 },
            { from: 1_400, to: 5_000, ms: 3_600 },
        ]);
    });

    it("belong to the fault in whose time most of them lies", () => {
        const strike = (from: number, to: number) => ({
            fault: "f",
            node: "n",
            from,
            ended: from,
            switchBack: undefined,
            wellAgain: to,
            to,
        });
        const gaps = [
            { from: 100, to: 1_100, ms: 1_000 },
            { from: 9_900, to: 14_000, ms: 4_100 },
        ];
        const all = [strike(0, 5_000), strike(5_000, 10_000), strike(10_000, 12_000)] as const;
        const [first, second, third] = all;
        expect(longestLoss(gaps, [first], all)).toBe(1_000);
        expect(longestLoss(gaps, [first, third], all)).toBe(4_100);
        expect(longestLoss(gaps, [second], all)).toBe(0);
        expect(longestLoss(gaps, [strike(20_000, 30_000)], all)).toBe(0);
    });
});

describe("a check", () => {
    const polls = { count: 5, atLeast: 5 };

    it("holds when it was polled often enough and nothing was found", async () => {
        expect(await checked("all", () => nothingFound([], polls, "5 polls"))).toEqual({
            name: "all",
            ok: true,
            text: "5 polls",
        });
    });

    it.each([
        { what: "something was found", check: () => nothingFound(new Set(["a", "b"]), polls, ""), text: "a; b" },
        {
            what: "it was polled too seldom",
            check: () => nothingFound([], { count: 4, atLeast: 5, lastError: new Error("refused") }, ""),
            text: "polled 4 times only, not 5: refused",
        },
        {
            what: "it was never polled",
            check: () => nothingFound([], { count: 0, atLeast: 1 }, ""),
            text: "polled 0 times only, not 1",
        },
        {
            what: "it rejects",
            check: () => Promise.reject(new Error("gave up", { cause: new Error("pod-1") })),
            text: "gave up: pod-1",
        },
    ])("does not hold when $what", async ({ check, text }) => {
        expect(await checked("all", check)).toEqual({ name: "all", ok: false, text });
    });
});
