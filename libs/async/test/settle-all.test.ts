import { expect, test } from "@jest/globals";
import { settleAll } from "../src/index.ts";

test("settleAll gives all results, or the first failure when all have ended", async () => {
    await expect(settleAll([Promise.resolve(1), Promise.resolve("two")])).resolves.toEqual([1, "two"]);
    const slow = Promise.withResolvers<void>();
    let isOver = false;
    const failing = settleAll([slow.promise, Promise.reject(new Error("first")), Promise.reject(new Error("second"))]);
    const ended = failing.catch(() => (isOver = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(isOver).toBe(false);
    slow.resolve();
    await ended;
    await expect(failing).rejects.toThrow("first");
});
