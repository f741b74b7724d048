import { afterEach, expect, it } from "@jest/globals";
import { ManualClock, settle } from "@antrea/async/testing";
import { parseIp } from "@antrea/ip";
import type { Netlink, NetlinkEvent } from "@antrea/netlink";
import { OpenFlowConnection } from "@antrea/openflow/connection";
import { Jobs, Metrics } from "@antrea/runtime";
import {
    secondaryBridge,
    type BridgePlatform,
    type SecondaryBridgeFeature,
} from "../../../src/features/secondary-bridge/feature.ts";
import { NicUplinks } from "../../../src/features/secondary-bridge/nic-uplinks.ts";
import { SwitchBridge } from "../../../src/platform/ovs/bridge/index.ts";
import { listLogger, silentLogger, type LogEntry } from "../../support/logger.ts";
import { addressOf, fakeNetlink, linkOf } from "../../platform/host/uplink/support/fake-links.ts";

/** A database without an answer. */
class Unreachable {
    readonly rows = (table: string): ReadonlyMap<string, object> =>
        new Map(table === "Open_vSwitch" ? [["uuid", {}]] : []);
    asked = 0;
    readonly #listeners: (() => void)[] = [];

    transact = (): Promise<never> => {
        this.asked += 1;
        return Promise.reject(new Error("no database"));
    };

    onConnect = (listener: () => void): void => void this.#listeners.push(listener);

    connect(): void {
        for (const listener of this.#listeners) listener();
    }
}

let made: { readonly feature: SecondaryBridgeFeature; readonly jobs: Jobs }[] = [];

afterEach(async () => {
    for (const { feature, jobs } of made) {
        await jobs.stop();
        await feature.stop?.();
    }
    made = [];
});

function make({ isEnabled, log = [] }: { readonly isEnabled: boolean; readonly log?: LogEntry[] }): {
    readonly feature: SecondaryBridgeFeature;
    readonly jobs: Jobs;
    readonly database: Unreachable;
    readonly emit: (event: NetlinkEvent) => void;
} {
    const listeners: ((event: NetlinkEvent) => void)[] = [];
    const subscribe: Netlink["subscribe"] = (_, listener) => {
        listeners.push(listener);
        return { [Symbol.dispose]: () => undefined };
    };
    const database = new Unreachable();
    const clock = new ManualClock();
    const jobs = new Jobs({ logger: silentLogger, clock });
    const wanted = { bridgeName: "br1", physicalInterfaces: ["nic0"], enableMulticastSnooping: false };
    const idle = { uplink: { state: { kind: "idle" } }, bridge: { name: "nic0~br" } };
    const uplinks = new NicUplinks(
        { logger: silentLogger, movedNics: () => [], nicsWithBridges: () => [], make: () => idle as never },
        { nics: ["nic0"] },
    );
    const feature = secondaryBridge(
        {
            bridge: { bridgeOf: () => undefined },
            clock,
            config: { secondaryNetwork: { ovsBridges: [wanted] } },
            database,
            datapath: { copiesFrames: false },
            environment: { nodeName: "worker" },
            gates: { enabled: () => isEnabled },
            jobs,
            kube: { api: {} },
            logger: listLogger(log),
            metrics: new Metrics({ processMetrics: false }),
            netlink: { ...fakeNetlink([linkOf(2, "nic0")]), subscribe },
            sysctls: { held: () => [], set: () => undefined, undo: () => undefined },
            switchBridges: {
                names: () => [],
                of: (options: object) =>
                    new SwitchBridge({ database: database as never }, { ...options, datapathType: "system" } as never),
                connection: () => new OpenFlowConnection({ logger: silentLogger }, { socketPath: "/none" }),
            },
            transport: { state: { name: "eth0" } },
        } as unknown as BridgePlatform,
        uplinks,
    );
    made.push({ feature, jobs });
    return { feature, jobs, database, emit: (event) => listeners.forEach((listener) => listener(event)) };
}

const jobNames = (jobs: Jobs): readonly string[] =>
    jobs
        .health()
        .map(({ name }) => name)
        .sort();

it("a database that does not answer delays no start: the jobs repeat it, and Pods get an error to try again", async () => {
    const log: LogEntry[] = [];
    const { feature, jobs } = make({ isEnabled: true, log });
    await feature.stage?.(new AbortController().signal);
    await feature.start?.(new AbortController().signal);
    expect(log).toMatchObject([{ level: "warn", fields: { reason: "no database" } }]);
    expect(feature.served?.state.problem).toBe("the bridge br1 is not made yet: no database");
    expect(jobNames(jobs)).toEqual(["secondary-bridge/bridge", "secondary-bridge/nic/nic0", "secondary-bridge/report"]);
});

it("a start that is aborted is over", async () => {
    const { feature, jobs } = make({ isEnabled: true });
    await expect(feature.stage?.(AbortSignal.abort(new Error("the end")))).rejects.toThrow("the end");
    expect(jobs.health()).toEqual([]);
});

it("without the feature gate no bridge is served, whatever is configured", async () => {
    const { feature, jobs } = make({ isEnabled: false });
    expect(feature.served).toBeUndefined();
    await feature.start?.(new AbortController().signal);
    expect(jobNames(jobs)).toEqual(["secondary-bridge/bridge", "secondary-bridge/report"]);
});

it("a new connection to the database is a check at once, without waiting for the next try", async () => {
    const { feature, jobs, database } = make({ isEnabled: true });
    await feature.start?.(new AbortController().signal);
    jobs.start();
    await settle();
    const before = database.asked;
    database.connect();
    await settle();
    expect(database.asked).toBe(before + 1);
});

it.each<[string, number, NetlinkEvent]>([
    ["about a NIC", 1, { type: "link", deleted: false, link: linkOf(7, "nic0") }],
    ["about a NIC under another name", 1, { type: "link", deleted: false, link: linkOf(2, "eth9") }],
    ["about a NIC as a port", 1, { type: "link", deleted: false, link: linkOf(7, "nic0~") }],
    ["about an address of a NIC", 1, { type: "address", deleted: true, address: addressOf(2, parseIp("192.0.2.1")) }],
    ["that others were lost", 1, { type: "overrun" }],
    ["about a Pod's link", 0, { type: "link", deleted: false, link: linkOf(8, "web-0-abcdef") }],
    ["about its address", 0, { type: "address", deleted: false, address: addressOf(8, parseIp("fe80::8")) }],
])("an event %s triggers %i checks", async (_, checks, event) => {
    const { feature, jobs, database, emit } = make({ isEnabled: true });
    await feature.start?.(new AbortController().signal);
    jobs.start();
    await settle();
    const before = database.asked;
    emit(event);
    await settle();
    expect(database.asked - before).toBe(checks);
});
