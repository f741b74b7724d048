import { describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { parseIp } from "@antrea/ip";
import { NeighbourState, type Netlink } from "@antrea/netlink";
import { ConnectivityProbes, probeTargetsText } from "../../../../src/platform/host/uplink/connectivity-probes.ts";

const gateway = parseIp("10.0.0.1");
const signal = new AbortController().signal;

/** A gateway that answers after a time, or never; an API server that always does. */
function make(clock: ManualClock, answersAfterMs: number): ConnectivityProbes {
    const state = (): number =>
        clock.monotonic() >= answersAfterMs ? NeighbourState.REACHABLE : NeighbourState.INCOMPLETE;
    const netlink: Partial<Netlink> = {
        neighbours: async () => [{ index: 7, ip: gateway, state: state(), flags: 0 }],
        probeNeighbour: async () => undefined,
    };
    return new ConnectivityProbes({ netlink: netlink as Netlink, apiReachable: () => Promise.resolve(true), clock });
}

describe("connectivityProbes", () => {
    it.each([
        ["a gateway that answers late", 610, false, true, 620],
        ["nobody", Infinity, false, false, 1_000],
        ["the API server alone", Infinity, true, true, 0],
    ])("within a second, the least time: %s", async (_, after, withApi, expected, ms) => {
        const clock = new ManualClock();
        const asked = make(clock, after).anyAnswers(7, { gateways: [gateway], withApi }, 1_000, signal);
        let endedAt = NaN;
        void asked.then(() => (endedAt = clock.monotonic()));
        while (Number.isNaN(endedAt)) await clock.advance(1);
        expect(await asked).toBe(expected);
        expect(endedAt).toBe(ms);
        expect(clock.pending).toBe(0);
    });

    it("are named for users", () => {
        expect(probeTargetsText([gateway], true)).toBe("gateway 10.0.0.1 and the API server");
        expect(probeTargetsText([gateway], false)).toBe("gateway 10.0.0.1");
        expect(probeTargetsText([], true)).toBe("the API server");
    });
});
