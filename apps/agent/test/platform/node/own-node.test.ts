import { describe, expect, it } from "@jest/globals";
import { systemClock } from "@antrea/async";
import { parseIp } from "@antrea/ip";
import { Jobs } from "@antrea/runtime";
import { loadAgentConfig } from "@antrea/settings";
import { cachedNodeKey, parseCachedNode } from "../../../src/platform/node/config/index.ts";
import type { NodeObject } from "../../../src/platform/node/node-object.ts";
import { ownNode } from "../../../src/platform/node/own-node.ts";
import { silentLogger } from "../../support/logger.ts";

const worker: NodeObject = {
    metadata: { name: "worker" },
    spec: { podCIDRs: ["10.10.1.0/24"] },
    status: { addresses: [{ type: "InternalIP", address: "192.0.2.1" }] },
};

/** A start until OVS is to get the first flows, while no job runs; `listed`: undefined while the API server is away. */
async function start(stored: Map<string, string>, listed: NodeObject | undefined): Promise<void> {
    const { signal } = new AbortController();
    const platform = {
        bridge: {
            externalId: (key: string) => stored.get(key),
            setExternalId: async (key: string, value: string) => void stored.set(key, value),
        },
        clock: systemClock,
        config: loadAgentConfig("").config,
        environment: { nodeName: "worker" },
        fail: (error: unknown) => {
            throw error;
        },
        jobs: new Jobs({ logger: silentLogger, clock: systemClock }),
        logger: silentLogger,
        netlink: {
            links: async () => [{ name: "eth0", index: 2, up: true }],
            addresses: async () => [{ index: 2, ip: parseIp("192.0.2.1") }],
        },
        nodes: {
            hasSynced: listed !== undefined,
            synced: () => (listed === undefined ? Promise.reject(new TypeError("away")) : Promise.resolve()),
            get: () => listed,
            onChange: () => undefined,
        },
        readiness: { met: () => undefined, unmet: () => undefined },
    };
    const { remember } = await ownNode(
        platform as unknown as Parameters<typeof ownNode>[0],
        { deletion: undefined, syncLimitMs: undefined },
        signal,
    );
    await remember.stage?.(signal);
}

describe("stored in OVS when it is to get the first flows", () => {
    it("is the Node as the API server has it", async () => {
        const stored = new Map<string, string>();
        await start(stored, worker);
        expect(parseCachedNode(stored.get(cachedNodeKey), "worker")).toEqual(worker);
    });

    it("is what an earlier start stored, with the deletion that it observed, while the API server is away", async () => {
        const internalIPs = ["192.0.2.1"];
        const before = JSON.stringify({ name: "worker", podCIDRs: ["10.10.1.0/24"], internalIPs, goneAt: 1 });
        const stored = new Map([[cachedNodeKey, before]]);
        await start(stored, undefined);
        expect(stored.get(cachedNodeKey)).toBe(before);
    });
});
