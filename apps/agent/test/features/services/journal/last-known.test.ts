import { beforeEach, describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { Category, cookieOf } from "@antrea/flows";
import { formatPrefix, parsePrefix, type Prefix } from "@antrea/ip";
import type { ServiceObjects } from "@antrea/services";
import {
    LastKnownServices,
    type LastKnownServicesComponents,
} from "../../../../src/features/services/journal/last-known.ts";
import { silentLogger } from "../../../support/logger.ts";
import { service } from "./journal-examples.ts";

type Ready = Parameters<LastKnownServicesComponents["openflow"]["onReady"]>[0];

let clock: ManualClock;
let ready: Ready | undefined;
let reads: number;
let areListsComplete: boolean;
let known: readonly ServiceObjects[];
let serviceCidrs: readonly Prefix[] | undefined;
let restored: string[];
let lastKnown: LastKnownServices;
const signal = new AbortController().signal;

beforeEach(() => {
    [clock, ready, reads, areListsComplete] = [new ManualClock(), undefined, 0, false];
    known = [{ service: service("web"), slices: [] }];
    [serviceCidrs, restored] = [undefined, []];
    lastKnown = new LastKnownServices({
        openflow: {
            onReady: (listener) => {
                ready = listener;
                return { [Symbol.dispose]: () => void (ready = undefined) };
            },
        },
        watch: {
            isCompleteWithin: async (ms) => {
                await new Promise<void>((resolve) => void clock.after(ms, resolve));
                return areListsComplete;
            },
            restore: (all) => {
                const keys = [...all].map((one) => `default/${one.service.metadata?.name ?? ""}`);
                restored.push(...keys);
                return Promise.resolve(keys);
            },
        },
        journal: {
            read: () => {
                reads += 1;
                return Promise.resolve({ services: known, serviceCidrs });
            },
        },
        cidrs: { restore: (last) => void restored.push(...last.map(formatPrefix)) },
        clock,
        logger: silentLogger,
    });
});

/** OVS is connected, with so many marks that it has had all Services, and with other flows. */
const connect = (marks: number): Promise<void> | undefined =>
    ready?.({
        countFlows: ({ cookie }) =>
            Promise.resolve({ flows: cookieOf(cookie).category === Category.servicesComplete ? marks : 99 }),
    });

describe("Services that were last known", () => {
    it("are served when the lists are not complete three seconds after the watch has begun, though OVS has some flows", async () => {
        lastKnown.stage();
        await connect(0);
        await clock.advance(1_000);
        const restoring = lastKnown.restore(signal);
        await clock.advance(1_999);
        expect(reads).toBe(0);
        await clock.advance(1);
        expect([await restoring, reads]).toEqual([["default/web"], 1]);
    });

    it("are not read when the lists are complete by then", async () => {
        lastKnown.stage();
        await connect(0);
        areListsComplete = true;
        const restoring = lastKnown.restore(signal);
        await clock.advance(3_000);
        expect([await restoring, reads]).toEqual([[], 0]);
    });

    it("are not served while OVS has all Services, but when it has lost them", async () => {
        const watching = lastKnown.stage();
        await connect(1);
        const restoring = lastKnown.restore(signal);
        await clock.advance(60_000);
        expect(reads).toBe(0);
        await connect(0);
        await clock.advance(3_000);
        expect([await restoring, reads]).toEqual([["default/web"], 1]);
        watching[Symbol.dispose]();
        expect(ready).toBe(undefined);
    });

    it("come after the Service CIDRs, to which the host has routes", async () => {
        serviceCidrs = [parsePrefix("10.96.0.0/16")];
        lastKnown.stage();
        await connect(0);
        const restoring = lastKnown.restore(signal);
        await clock.advance(3_000);
        await restoring;
        expect(restored).toEqual(["10.96.0.0/16", "default/web"]);
    });

    it("may be none", async () => {
        known = [];
        lastKnown.stage();
        await connect(0);
        const restoring = lastKnown.restore(signal);
        await clock.advance(3_000);
        expect([await restoring, reads]).toEqual([[], 1]);
    });
});
