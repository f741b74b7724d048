import { describe, expect, it } from "@jest/globals";
import { settle } from "@antrea/async/testing";
import { Lifecycle } from "@antrea/runtime";
import { MemoryLog } from "@antrea/runtime/testing";
import { uplinkParts } from "../../../src/features/bridging/uplink-parts.ts";
import type { UplinkState } from "../../../src/platform/host/uplink/index.ts";

const idle: UplinkState = { kind: "idle" };

/** A Lifecycle with the parts of the uplink outside bridging mode, and one between them; `calls` of the uplink. */
function make(recover: () => Promise<UplinkState>): { lifecycle: Lifecycle; calls: string[] } {
    const calls: string[] = [];
    const call = async (name: string): Promise<void> => void calls.push(name);
    const parts = uplinkParts(
        {
            config: { enableBridgingMode: false },
            database: { lockState: "locked" },
            environment: { nodeName: "worker" },
            jobs: { once: () => undefined },
            kube: { api: {} },
        } as unknown as Parameters<typeof uplinkParts>[0],
        {
            state: idle,
            recover: async () => {
                calls.push("recover");
                return recover();
            },
            connect: async () => idle,
            check: async () => idle,
            restore: () => call("restore"),
        },
    );
    const lifecycle = new Lifecycle({ logger: new MemoryLog().logger });
    const flows = { name: "flows", start: () => call("flows"), stop: () => call("no flows") };
    for (const part of [parts.end, parts.recovery, flows, parts.move(() => undefined)]) lifecycle.append(part);
    return { lifecycle, calls };
}

describe("the parts of the uplink", () => {
    it("recover before the flows; restore before these are removed, and at the end", async () => {
        const { lifecycle, calls } = make(async () => idle);
        await lifecycle.start();
        // Outside bridging mode.
        expect(calls.splice(0)).toEqual(["recover", "flows", "restore"]);
        await lifecycle.stop();
        expect(calls).toEqual(["restore", "no flows", "restore"]);
    });

    it("restore also after a recovery that failed", async () => {
        const { lifecycle, calls } = make(() => Promise.reject(new TypeError("no journal")));
        await expect(lifecycle.start()).rejects.toMatchObject({ code: "START_FAILED" });
        expect(calls).toEqual(["recover", "restore"]);
    });

    it("restore also after a recovery that was abandoned", async () => {
        const { lifecycle, calls } = make(() => new Promise(() => undefined));
        const started = lifecycle.start();
        started.catch(() => undefined);
        await settle();
        await lifecycle.stop();
        await expect(started).rejects.toMatchObject({ code: "ABORTED" });
        expect(calls).toEqual(["recover", "restore"]);
    });
});
