import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { ManualClock, settle } from "@antrea/async/testing";
import { parsePrefix } from "@antrea/ip";
import { type CtFlush } from "@antrea/openflow";
import { Jobs } from "@antrea/runtime";
import { removeTranslated } from "../../../../src/features/services/udp/remove-translated.ts";
import { silentLogger } from "../../../support/logger.ts";

type Platform = Parameters<typeof removeTranslated>[0];

let clock: ManualClock;
let jobs: Jobs;
/** Flows of addresses of Services that OVS has. */
let flows: number;
let connections: readonly string[];
let flushed: readonly CtFlush[];
/** When the connections were read. */
let dumps: number[];

const line = (port: number, mark: number): string =>
    `udp,orig=(src=10.10.1.9,dst=10.96.0.10,sport=${port},dport=53),` +
    `reply=(src=10.10.1.2,dst=10.10.1.9,sport=8080,dport=${port}),zone=65520,mark=${mark}`;

beforeEach(() => {
    clock = new ManualClock();
    jobs = new Jobs({ logger: silentLogger, clock });
    [flows, connections, flushed, dumps] = [0, [line(1, 19), line(2, 3)], [], []];
    const platform = {
        clock,
        datapath: { type: "netdev" },
        node: { podPrefixes: [parsePrefix("10.10.1.0/24")] },
        openflow: {
            countFlows: ({ table }: { readonly table: number }) =>
                Promise.resolve({ flows: table === 46 ? flows : 99 }),
            flushConnections: (flushes: readonly CtFlush[]) => {
                flushed = [...flushed, ...flushes];
                connections = connections.slice(flushes.length);
                return Promise.resolve();
            },
        },
        vswitchd: {
            request: () => {
                dumps.push(clock.monotonic());
                return Promise.resolve(connections.join("\n"));
            },
        },
    } as unknown as Platform;
    jobs.once("udp", (limit) => removeTranslated(platform, limit));
});

afterEach(async () => jobs.stop());

/** Advances in steps: a comparison may let other work run in between, as often as the machine is slow. */
async function advance(ms: number): Promise<void> {
    const settleAll = async (): Promise<void> => {
        for (let turn = 0; turn < 20; turn += 1) await settle();
    };
    for (let left = ms; left > 0; left -= 100) {
        await settleAll();
        await clock.advance(Math.min(left, 100));
    }
    await settleAll();
}

const state = (): string | undefined => jobs.health()[0]?.state;

describe("UDP connections of an earlier start with AntreaProxy", () => {
    it("are removed if they are translated, are compared once more, and the job ends", async () => {
        jobs.start();
        await advance(1_000);
        expect(flushed.map(({ original }) => original?.srcPort)).toEqual([1]);
        expect(state()).toBe("running");
        await advance(10_000);
        expect([state(), clock.pending]).toEqual(["done", 0]);
        // until nothing is stale, then 1.2 s after the first
        expect(dumps).toEqual([0, 0, 1_200]);
    });

    it("are left while flows that translate them are", async () => {
        flows = 2;
        jobs.start();
        await advance(10_500);
        expect([dumps, state()]).toEqual([[], "running"]);
        flows = 0;
        await advance(2_000);
        expect([dumps, state()]).toEqual([[11_000, 11_000, 12_200], "done"]);
    });
});
