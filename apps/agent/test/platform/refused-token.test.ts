import { beforeEach, describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { Metrics } from "@antrea/runtime";
import { RefusedToken } from "../../src/platform/refused-token.ts";
import { listLogger, type LogEntry } from "../support/logger.ts";

describe("an agent whose token is refused", () => {
    let clock: ManualClock;
    let metrics: Metrics;
    let api: { refusedSince: number | undefined };
    let log: LogEntry[];
    let token: RefusedToken;

    const seconds = async (): Promise<string | undefined> =>
        (await metrics.text()).split("\n").find((line) => line.startsWith("antrea_agent_token_refused_seconds "));

    beforeEach(() => {
        [clock, metrics, api] = [
            new ManualClock(),
            new Metrics({ processMetrics: false }),
            { refusedSince: undefined },
        ];
        log = [];
        token = new RefusedToken({ api, clock, metrics, logger: listLogger(log) });
    });

    it("is not ready, with the time in its metric, until the API server accepts the token again", async () => {
        expect(token.problem).toBeUndefined();
        expect(await seconds()).toBe("antrea_agent_token_refused_seconds 0");
        api.refusedSince = clock.monotonic();
        await clock.advance(15_000);
        expect(token.problem).toContain("401");
        expect(await seconds()).toBe("antrea_agent_token_refused_seconds 15");
        api.refusedSince = undefined;
        expect(token.problem).toBeUndefined();
        expect(await seconds()).toBe("antrea_agent_token_refused_seconds 0");
    });

    it("logs it once, and once when the token is accepted again", () => {
        token.check();
        expect(log).toEqual([]);
        api.refusedSince = 1;
        token.check();
        token.check();
        expect(log).toEqual([expect.objectContaining({ level: "error" })]);
        api.refusedSince = undefined;
        token.check();
        token.check();
        expect(log).toHaveLength(2);
        expect(log[1]).toMatchObject({ level: "info" });
    });
});
