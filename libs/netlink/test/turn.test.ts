import { describe, expect, it } from "@jest/globals";
import { Turn } from "../src/turn.ts";

describe("Turn", () => {
    it("runs at once when idle, else in the order of the calls, failures or not", async () => {
        const turn = new Turn();
        const log: string[] = [];
        const gate = Promise.withResolvers<void>();
        const slow = turn.run(async () => {
            log.push("slow begins");
            await gate.promise;
            log.push("slow ends");
            throw new Error("slow failed");
        });
        const second = turn.run(() => log.push("second"));
        const third = turn.run(() => {
            log.push("third");
            throw new Error("third failed");
        });
        const fourth = turn.run(() => log.push("fourth"));
        log.push("all called");
        gate.resolve();
        await expect(slow).rejects.toThrow("slow failed");
        await expect(third).rejects.toThrow("third failed");
        await Promise.all([second, fourth]);
        expect(log).toEqual(["slow begins", "all called", "slow ends", "second", "third", "fourth"]);

        await Promise.resolve();
        void turn.run(() => log.push("fifth"));
        expect(log.at(-1)).toBe("fifth");
    });
});
