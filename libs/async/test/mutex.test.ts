import { describe, expect, it } from "@jest/globals";
import { Mutex } from "../src/mutex.ts";

describe("Mutex", () => {
    it("runs at once when idle, else in the order of the calls, failures or not", async () => {
        const mutex = new Mutex();
        const log: string[] = [];
        const gate = Promise.withResolvers<void>();
        const slow = mutex.run(async () => {
            log.push("slow begins");
            await gate.promise;
            log.push("slow ends");
            throw new Error("slow failed");
        });
        const second = mutex.run(() => log.push("second"));
        const third = mutex.run(() => {
            log.push("third");
            throw new Error("third failed");
        });
        const fourth = mutex.run(() => log.push("fourth"));
        log.push("all called");
        gate.resolve();
        await expect(slow).rejects.toThrow("slow failed");
        await expect(third).rejects.toThrow("third failed");
        await Promise.all([second, fourth]);
        expect(log).toEqual(["slow begins", "all called", "slow ends", "second", "third", "fourth"]);

        await Promise.resolve();
        void mutex.run(() => log.push("fifth"));
        expect(log.at(-1)).toBe("fifth");
    });
});
