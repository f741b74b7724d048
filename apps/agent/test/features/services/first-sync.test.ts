import { expect, it } from "@jest/globals";
import { FirstSync } from "../../../src/features/services/first-sync.ts";

it("the first sync is complete when each Service that was known then was tried", () => {
    const sync = new FirstSync();
    let calls = 0;
    sync.onComplete(() => (calls += 1));
    sync.tried("early");
    expect(sync.isComplete).toBe(false);
    sync.begin(["a", "b"]);
    sync.tried("a");
    sync.tried("other");
    expect([sync.isComplete, calls]).toEqual([false, 0]);
    sync.tried("b");
    sync.tried("b");
    expect([sync.isComplete, calls]).toEqual([true, 1]);
});

it("without Services it is complete at once", () => {
    const sync = new FirstSync();
    let calls = 0;
    sync.onComplete(() => (calls += 1));
    sync.begin([]);
    expect([sync.isComplete, calls]).toEqual([true, 1]);
});
