import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { add, datagrams, LiveSwitch } from "./live.ts";

describe("meters of ovs-vswitchd", () => {
    let live: LiveSwitch;

    beforeAll(async () => {
        live = await LiveSwitch.start();
    });
    afterAll(() => live[Symbol.asyncDispose]());
    beforeEach(() => live.reset());

    it("added, changed, read, refused by name", async () => {
        const meter = { id: 7, unit: "packets", rate: 1000, burst: 200 } as const;
        await live.connection.changeMeter({ command: "add", meter });
        expect(await live.connection.dumpMeters()).toEqual([meter]);
        await expect(live.connection.changeMeter({ command: "add", meter })).rejects.toMatchObject({
            code: "REFUSED",
            message: "add meter 7: the switch refused it with OFPMMFC_METER_EXISTS",
        });
        await live.connection.changeMeter({ command: "modify", meter: { ...meter, rate: 500 } });
        expect(await live.connection.dumpMeters()).toEqual([{ ...meter, rate: 500 }]);
        await live.connection.changeMeter({ command: "delete", meter: { id: 7 } });
        expect(await live.connection.dumpMeters()).toEqual([]);
    });

    it("limits what a flow sends to this program", async () => {
        await live.connection.changeMeter({ command: "add", meter: { id: 1, unit: "packets", rate: 100, burst: 100 } });
        const userdata = Uint8Array.of(4);
        const reject = (table: number, meter?: number): Parameters<typeof add>[0] => ({
            table,
            priority: 1,
            match: {},
            actions: [{ type: "controller", userdata, ...(meter === undefined ? {} : { meter }) }],
        });
        await live.connection.bundle([add(reject(0, 1)), add(reject(1))]);
        let count = 0;
        using _listener = live.connection.onPacketIn((packet) => {
            expect(packet.userdata).toEqual(userdata);
            count += 1;
        });
        const began = performance.now();
        await live.send(datagrams(3_000, "10.96.0.1", "10.10.9.9"));
        const seconds = (performance.now() - began) / 1000;
        expect(count).toBeGreaterThan(50);
        expect(count).toBeLessThan(100 + 100 * (seconds + 1));
        count = 0;
        await live.send(datagrams(1_000, "10.96.0.1", "10.10.9.9"), 1);
        // Not all: the queue to a program is short.
        expect(count).toBeGreaterThan(300);
    });
});
