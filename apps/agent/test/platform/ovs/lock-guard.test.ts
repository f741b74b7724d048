import { describe, expect, it } from "@jest/globals";
import { LockGuard } from "../../../src/platform/ovs/lock-guard.ts";

type State = "waiting" | "locked" | "lost";

describe("the guard of the OVSDB lock", () => {
    it.each<[string, readonly State[], number]>([
        ["holds it", ["locked", "locked", "locked"], 0],
        ["has no connection", ["lost", "lost", "lost"], 0],
        ["waits once, until its own last connection has ended", ["locked", "waiting", "locked", "waiting"], 0],
        ["waits while another has it", ["locked", "waiting", "waiting"], 1],
    ])("an agent that %s", (_, states, ends) => {
        let state: State = "locked";
        const errors: unknown[] = [];
        const guard = new LockGuard({ lockState: () => state, fail: (error) => errors.push(error) });
        for (state of states) guard.check();
        expect(errors).toHaveLength(ends);
    });
});
