import { describe, expect, it } from "@jest/globals";
import { besideEachOther } from "../fixture/beside-each-other.ts";

describe("suites", () => {
    it("of one number run beside each other, numbers and folders one after the other", () => {
        const paths = ["/m/52-a.e2e.ts", "/s/10-a-b.e2e.ts", "/s/10-c.e2e.ts", "/s/11-a.e2e.ts", "/s/52-a.e2e.ts"];
        const groups = besideEachOther(paths.map((path) => ({ path })));
        expect(groups.map((group) => group.map(({ path }) => path))).toEqual([
            [paths[0]],
            [paths[1], paths[2]],
            [paths[3]],
            [paths[4]],
        ]);
    });
});
