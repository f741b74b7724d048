import { describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { parseIp } from "@antrea/ip";
import { Cooldown } from "../../../src/features/ip-pools/cooldown.ts";

describe("Cooldown", () => {
    it("lets an address rest for the time after it was last freed, in each family for itself", async () => {
        const clock = new ManualClock();
        const cooldown = new Cooldown({ clock }, { cooldownMs: 30_000 });
        cooldown.freed(parseIp("10.0.0.1"));
        await clock.advance(10_000);
        expect(cooldown.left(parseIp("10.0.0.1"))).toBe(20_000);
        expect(cooldown.left(parseIp("::a00:1"))).toBe(0);
        cooldown.freed(parseIp("10.0.0.1"));
        await clock.advance(29_999);
        expect(cooldown.left(parseIp("10.0.0.1"))).toBe(1);
        await clock.advance(1);
        expect(cooldown.left(parseIp("10.0.0.1"))).toBe(0);
    });

    it("remembers no more than what still rests", async () => {
        const clock = new ManualClock();
        const cooldown = new Cooldown({ clock }, { cooldownMs: 1_000 });
        for (let at = 0; at < 1_000; at += 1) {
            cooldown.freed({ family: 4, value: BigInt(at) });
            await clock.advance(100);
        }
        expect(cooldown.size).toBeLessThanOrEqual(10);
    });

    it("counts what rests of both families", () => {
        const cooldown = new Cooldown({ clock: new ManualClock() }, { cooldownMs: 1_000 });
        for (const ip of ["10.0.0.1", "10.0.0.2", "fd00::1"]) cooldown.freed(parseIp(ip));
        expect(cooldown.size).toBe(3);
    });

    it("does nothing when it is switched off", () => {
        const cooldown = new Cooldown({ clock: new ManualClock() }, { cooldownMs: 0 });
        cooldown.freed(parseIp("10.0.0.1"));
        expect(cooldown.left(parseIp("10.0.0.1"))).toBe(0);
        expect(cooldown.size).toBe(0);
    });
});
