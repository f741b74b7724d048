import { beforeEach, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { bridgingTables, nodeTables, Pipeline } from "@antrea/flows";
import { bridging, type Bridging } from "../../../src/features/bridging/feature.ts";
import type { NodePlatform } from "../../../src/platform/node-platform.ts";
import { bridgedPod, PodInterfaces } from "../../../src/platform/pod-interfaces/index.ts";
import { Jobs } from "@antrea/runtime";
import type { PacketOut } from "@antrea/openflow";
import { silentLogger } from "../../support/logger.ts";
import { addressOf, podRecord } from "../../support/records.ts";

const record = podRecord({ addresses: [{ ...addressOf("10.20.0.7/24"), pool: "pool1" }] });
const wired = { record, ofPort: 32_784 };

let table: PodInterfaces;
let clock: ManualClock;
let sentTo: number[];
let feature: Bridging;

beforeEach(async () => {
    table = new PodInterfaces();
    clock = new ManualClock();
    sentTo = [];
    feature = bridging({
        clock,
        podInterfaces: table,
        bridgedMac: "0a:00:00:00:00:01",
        config: { hostGateway: "antrea-gw0" },
        flowTable: { stage: () => undefined, set: () => Promise.resolve(), remove: () => Promise.resolve() },
        logger: silentLogger,
        netlink: { subscribe: () => new DisposableStack() },
        node: { podPrefixes: [] },
        jobs: new Jobs({ logger: silentLogger, clock }),
        openflow: {
            packetOut: ({ inPort }: PacketOut) => void sentTo.push(inPort),
            onReady: () => undefined,
        },
        pipeline: new Pipeline([...nodeTables, ...bridgingTables]),
    } as unknown as NodePlatform);
    await feature.start?.(new AbortController().signal);
    await feature.pods?.add(bridgedPod(record, wired.ofPort));
});

async function sentAfter(change: () => void): Promise<number> {
    const before = sentTo.length;
    change();
    await clock.advance(1_000);
    return sentTo.length - before;
}

it("the addresses of a Pod are announced when its ADD has completed, also a repeated one, and by no other change", async () => {
    expect([
        await sentAfter(() => table.put({ ...wired, addedAt: Infinity })),
        await sentAfter(() => table.put({ ...wired, addedAt: 5 })),
        await sentAfter(() => table.put({ ...wired, addedAt: 5, ofPort: 9 })),
        await sentAfter(() => table.put({ ...wired, addedAt: Infinity })),
        await sentAfter(() => table.put({ ...wired, addedAt: 8 })),
        await sentAfter(() => void table.leave(record, "keep")),
        await sentAfter(() => table.remove(record)),
    ]).toEqual([0, 3, 0, 0, 3, 0, 0]);
});

it("a Pod that is wired already is not announced, nor one that is not bridged, nor any at the end", async () => {
    expect(await sentAfter(() => table.put({ ...wired, addedAt: 0 }))).toBe(0);
    const other = { ...wired, record: podRecord({ containerId: "cd34".repeat(16) }) };
    table.put({ ...other, addedAt: Infinity });
    expect(await sentAfter(() => table.put({ ...other, addedAt: 5 }))).toBe(0);
    await feature.stop?.();
    table.put({ ...wired, addedAt: Infinity });
    expect(await sentAfter(() => table.put({ ...wired, addedAt: 5 }))).toBe(0);
});
