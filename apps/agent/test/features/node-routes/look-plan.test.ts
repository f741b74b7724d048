import { expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { LookPlan } from "../../../src/features/node-routes/index.ts";

/** A plan at a time that the test sets, and what it ran, with the second. */
function planAt(): {
    readonly plan: LookPlan;
    readonly ran: string[];
    run(seconds: number, fails?: boolean): Promise<void>;
} {
    let ms = 0;
    const ran: string[] = [];
    const plan = new LookPlan({ clock: { monotonic: () => ms } }, { everyMs: 60_000 });
    return {
        plan,
        ran,
        run(seconds, fails = false) {
            ms = seconds * 1_000;
            const look = async (kind: string): Promise<void> => {
                ran.push(`${kind} ${seconds}`);
                if (fails) throw new Error("refused");
            };
            return plan.run({ full: () => look("full"), update: () => look("update") });
        },
    };
}

it("looks at all in time, however many Nodes change", async () => {
    const { ran, run } = planAt();
    for (let seconds = 0; seconds <= 600; seconds += 30) await run(seconds);
    expect(ran.filter((one) => one.startsWith("full"))).toEqual(
        [0, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600].map((seconds) => `full ${seconds}`),
    );
    expect(ran).toContain("update 30");
});

it("looks at all in time although somebody sets the clock back", async () => {
    const clock = new ManualClock();
    const wall = { backMs: 0 };
    const ran: string[] = [];
    const setBack = { now: () => clock.now() - wall.backMs, monotonic: () => clock.monotonic() };
    const plan = new LookPlan({ clock: setBack }, { everyMs: 60_000 });
    const run = (): Promise<void> =>
        plan.run({ full: async () => void ran.push("full"), update: async () => void ran.push("update") });
    await run();
    wall.backMs = 3_600_000;
    await clock.advance(60_000);
    await run();
    expect(ran).toEqual(["full", "full"]);
});

it("looks at all when that was asked for, also if a Node changed before or after", async () => {
    const { plan, ran, run } = planAt();
    await run(0);
    await run(1);
    plan.askForFull();
    await run(2);
    await run(3);
    expect(ran).toEqual(["full 0", "update 1", "full 2", "update 3"]);
});

it("a look that failed is still due", async () => {
    const { ran, run } = planAt();
    await expect(run(0, true)).rejects.toThrow("refused");
    await run(1);
    await run(2);
    expect(ran).toEqual(["full 0", "full 1", "update 2"]);
});

it("what is asked for during a look is asked of the next one", async () => {
    const plan = new LookPlan({ clock: { monotonic: () => 0 } }, { everyMs: 60_000 });
    const ran: string[] = [];
    const look = (kind: string) => async (): Promise<void> => {
        if (ran.push(kind) === 1) plan.askForFull();
    };
    const looks = { full: look("full"), update: look("update") };
    for (let run = 0; run < 3; run += 1) await plan.run(looks);
    expect(ran).toEqual(["full", "full", "update"]);
});
