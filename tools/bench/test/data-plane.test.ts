import { describe, expect, it } from "@jest/globals";
import { receivedMbits } from "../data-plane/load-pod.ts";
import { socketAddress } from "../data-plane/sockets.ts";
import { within } from "../netns.ts";
import { rotated } from "../statistics.ts";

describe("receivedMbits", () => {
    it("takes what the far end received", () => {
        const end = { sum_sent: { bits_per_second: 2e9 }, sum_received: { bits_per_second: 1.5e9 } };
        expect(receivedMbits(JSON.stringify({ end }))).toBe(1_500);
    });

    it("fails where iperf3 reports an error", () => {
        expect(() => receivedMbits('{"error": "unable to connect", "end": {}}')).toThrow("unable to connect");
    });
});

describe("socketAddress", () => {
    it("is a struct sockaddr_in: family of the machine's byte order, port and address of the network's", () => {
        expect([...socketAddress("10.98.1.2", 5_001)]).toEqual([
            2, 0, 0x13, 0x89, 10, 98, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0,
        ]);
    });
});

describe("within", () => {
    it("leaves a command alone where it is to run in our namespace", () => {
        expect(within(undefined, ["ip", "link"])).toEqual(["ip", ["link"]]);
    });

    it("runs it by nsenter in another one", () => {
        expect(within("/run/netns/a", ["ip", "link"])).toEqual(["nsenter", ["--net=/run/netns/a", "ip", "link"]]);
    });
});

describe("rotated", () => {
    it("lets each go first in turn", () => {
        expect([0, 1, 2, 3].map((by) => rotated(["a", "b", "c"], by).join(""))).toEqual(["abc", "bca", "cab", "abc"]);
    });
});
