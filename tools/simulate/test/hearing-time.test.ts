import { expect, it } from "@jest/globals";
import { HearingTime } from "../check/hearing-time.ts";

it("counts from the first look at a start of an agent that hears, and anew after it ended or was kept from hearing", () => {
    const time = new HearingTime();
    const [first, second] = [{}, {}];
    const looks = [undefined, first, first, first, undefined, first, first, second, second];
    const counted = looks.map((agent) => {
        time.look(agent, 1_000);
        return time.ms / 1_000;
    });
    expect(counted).toEqual([0, 0, 1, 2, 0, 0, 1, 0, 1]);
});
