import { expect, it } from "@jest/globals";
import { HearingTime } from "../check/hearing-time.ts";

it("counts from the first check of an agent that can receive changes, and restarts after it ended or was disconnected", () => {
    const time = new HearingTime();
    const [first, second] = [{}, {}];
    const checks = [undefined, first, first, first, undefined, first, first, second, second];
    const counted = checks.map((agent) => {
        time.update(agent, 1_000);
        return time.ms / 1_000;
    });
    expect(counted).toEqual([0, 0, 1, 2, 0, 0, 1, 0, 1]);
});
