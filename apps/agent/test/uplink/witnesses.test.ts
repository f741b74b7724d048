import { describe, expect, it } from "@jest/globals";
import { parseIp } from "@antrea/ip";
import { NeighbourState, type Netlink } from "@antrea/netlink";
import { Witnesses, witnessText } from "../../src/uplink/witnesses.ts";

const gateway = parseIp("10.0.0.1");
const signal = new AbortController().signal;

/** A gateway that answers after a time, or never; an API server that always does. */
function make(answersAfterMs: number): Witnesses {
    const began = performance.now();
    const state = (): number =>
        performance.now() - began >= answersAfterMs ? NeighbourState.REACHABLE : NeighbourState.INCOMPLETE;
    const netlink: Partial<Netlink> = {
        neighbours: async () => [{ index: 7, ip: gateway, state: state(), flags: 0 }],
        probeNeighbour: async () => undefined,
    };
    return new Witnesses({ netlink: netlink as Netlink, apiReachable: () => Promise.resolve(true) });
}

describe("witnesses", () => {
    it.each([
        ["a gateway that answers late", 600, false, true],
        ["nobody", Infinity, false, false],
        ["the API server alone", Infinity, true, true],
    ])("within a second, the least time: %s", async (_, after, withApi, expected) => {
        const began = performance.now();
        expect(await make(after).anyAnswers(7, { gateways: [gateway], withApi }, 1_000, signal)).toBe(expected);
        expect(performance.now() - began).toBeLessThan(1_400);
    });

    it("are named for users", () => {
        expect(witnessText([gateway], true)).toBe("gateway 10.0.0.1 and the API server");
        expect(witnessText([gateway], false)).toBe("gateway 10.0.0.1");
        expect(witnessText([], true)).toBe("the API server");
    });
});
