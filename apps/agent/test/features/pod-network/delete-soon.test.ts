import { expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { deleteSoon } from "../../../src/features/pod-network/delete-soon.ts";

/** The outcome of a DEL whose work ends with `work`, and what was left to the reconcile. */
async function outcome(
    work: () => Promise<unknown>,
    run: Parameters<typeof deleteSoon>[1]["run"],
): Promise<readonly unknown[]> {
    const [clock, left] = [new ManualClock(), [] as string[]];
    const done = deleteSoon(clock, { run, work, leave: (reason) => void left.push(reason) }).then(
        () => "done",
        (error: unknown) => error,
    );
    await clock.advance(5_000);
    return [await done, left, clock.pending];
}

const failed = new Error("the work failed");

it("a DEL fails with its work, and leaves to the reconcile only what could not begin", async () => {
    expect(
        await outcome(
            () => Promise.resolve(),
            (_, begin) => begin(),
        ),
    ).toEqual(["done", [], 0]);
    expect(
        await outcome(
            () => Promise.reject(failed),
            (_, begin) => begin(),
        ),
    ).toEqual([failed, [], 0]);
    const waiting = (limit: AbortSignal): Promise<void> =>
        new Promise((_, reject) => limit.addEventListener("abort", () => reject(limit.reason as Error)));
    expect(await outcome(() => Promise.resolve(), waiting)).toEqual([
        "done",
        ["other work on the container took longer than 5 s"],
        0,
    ]);
});
