import { expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { PassPlan } from "../../src/reconciler/pass-plan.ts";

/** A plan at a time that the test sets, and when it ran a full pass, in seconds. */
function planAt(): {
    readonly plan: PassPlan;
    readonly ran: number[];
    run(seconds: number, fails?: boolean): Promise<void>;
} {
    let ms = 0;
    const ran: number[] = [];
    const plan = new PassPlan({ clock: { monotonic: () => ms } }, { everyMs: 60_000 });
    return {
        plan,
        ran,
        run(seconds, fails = false) {
            ms = seconds * 1_000;
            return plan.run(async () => {
                ran.push(seconds);
                if (fails) throw new Error("refused");
            });
        },
    };
}

it("a full pass comes in time, however many changes there are", async () => {
    const { ran, run } = planAt();
    for (let seconds = 0; seconds <= 600; seconds += 30) await run(seconds);
    expect(ran).toEqual([0, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600]);
});

it("a full pass comes in time although somebody sets the clock back", async () => {
    const clock = new ManualClock();
    const wall = { backMs: 0 };
    const ran: string[] = [];
    const setBack = { now: () => clock.now() - wall.backMs, monotonic: () => clock.monotonic() };
    const plan = new PassPlan({ clock: setBack }, { everyMs: 60_000 });
    const run = (): Promise<void> => plan.run(async () => void ran.push("full"));
    await run();
    wall.backMs = 3_600_000;
    await clock.advance(60_000);
    await run();
    expect(ran).toEqual(["full", "full"]);
});

it("a full pass that was asked for is made, also if changes come before or after", async () => {
    const { plan, ran, run } = planAt();
    await run(0);
    await run(1);
    plan.askForFull();
    await run(2);
    await run(3);
    expect(ran).toEqual([0, 2]);
});

it("a full pass that failed is still due", async () => {
    const { ran, run } = planAt();
    await expect(run(0, true)).rejects.toThrow("refused");
    await run(1);
    await run(2);
    expect(ran).toEqual([0, 1]);
});

it("what is asked for during a full pass is asked of the next one", async () => {
    const plan = new PassPlan({ clock: { monotonic: () => 0 } }, { everyMs: 60_000 });
    let ran = 0;
    const full = async (): Promise<void> => {
        ran += 1;
        if (ran === 1) plan.askForFull();
    };
    for (let run = 0; run < 3; run += 1) await plan.run(full);
    expect(ran).toBe(2);
});
