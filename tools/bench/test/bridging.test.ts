import { describe, expect, it } from "@jest/globals";
import { arrivalOf, longestGapMs, roundTripOf, unansweredSince } from "../bridging/echoes.ts";
import { devicePorts } from "../data-plane/plain-bridge.ts";

describe("arrivalOf", () => {
    it("is the time of an echo in milliseconds", () => {
        const line = "[1763784000.250500] 64 bytes from 10.201.0.3: icmp_seq=7 ttl=64 time=0.061 ms";
        expect(arrivalOf(line)).toBeCloseTo(1_763_784_000_250.5, 3);
        expect(roundTripOf(line)).toEqual({ sequence: 7, ms: 0.061 });
    });

    it.each([
        "PING 10.201.0.3 (10.201.0.3) 56(84) bytes of data.",
        "[1763784000.250500] From 10.201.0.1 icmp_seq=7 Destination Host Unreachable",
        "",
    ])("is none in a line without an echo: %s", (line) => {
        expect(arrivalOf(line)).toBeUndefined();
    });
});

describe("longestGapMs", () => {
    const arrivals = [0, 2, 4, 50, 52, 54, 254, 256, 258];

    it.each([
        ["all of it", 0, 258, 200],
        ["a part", 2, 54, 46],
        ["a part that begins in a gap", 20, 54, 46],
        ["a part that ends in a gap", 51, 100, 200],
        ["a part inside of a gap", 100, 150, 200],
        ["a part without a gap", 255, 257, 2],
    ])("counts gaps in full: %s", (_, from, to, expected) => {
        expect(longestGapMs(arrivals, from, to)).toBe(expected);
    });

    it.each([
        ["before", -1, 52],
        ["after", 52, 259],
    ])("fails where no echo came %s", (_, from, to) => {
        expect(() => longestGapMs(arrivals, from, to)).toThrow("no echo came");
    });
});

describe("unansweredSince", () => {
    it.each([
        ["echoes came until then and after", 1_003, 0],
        ["the last one is within the interval", 991, 0],
        ["one is missing", 990, 1],
        ["they have ended", 500, 50],
        ["none came ever", undefined, 0],
    ])("counts the requests without an echo at the end: %s", (_, last, expected) => {
        expect(unansweredSince(last, 1_000, 10)).toBe(expected);
    });
});

describe("devicePorts", () => {
    it("are the numbers of NIC and Pods, without those that OVS made", () => {
        const text = `netdev@ovs-netdev:
  lookups: hit:11381 missed:2 lost:0
  flows: 31
  port 0: ovs-netdev (tap)
  port 1: br-int (tap)
  port 3: eth1 (tap)
  port 4: eth1~
  port 5: bench-2-9b3917
`;
        expect(devicePorts(text)).toBe("4, 5");
    });
});
