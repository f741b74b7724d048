import { expect, it } from "@jest/globals";
import { systemClock } from "@antrea/async";
import { Lifecycle, Metrics } from "@antrea/runtime";
import { cniServer } from "../../../src/features/cni-server/feature.ts";
import type { Platform } from "../../../src/platform/platform.ts";
import { silentLogger } from "../../support/logger.ts";

it("ends with the calls in progress before the Pod network that executes them, which starts after it", async () => {
    const events: string[] = [];
    const platform = {
        clock: systemClock,
        logger: silentLogger,
        metrics: new Metrics({ processMetrics: false }),
        config: { cniSocket: "/nowhere/cni.sock" },
        environment: { cniConfFolder: "/nowhere" },
    } as unknown as Platform;
    const { part } = cniServer(
        platform,
        {
            conflist: () => ({ write: async () => undefined, remove: async () => undefined }),
            cniServer: (_calls, { socketPath }) => ({
                start: async () => void events.push(`serves at ${socketPath}`),
                stop: async () => void events.push("calls have ended"),
            }),
        },
        [],
    );
    const lifecycle = new Lifecycle({ logger: silentLogger });
    lifecycle.append(part);
    lifecycle.append({
        name: "pod-network",
        start: () => void events.push("network starts"),
        stop: () => void events.push("network stops"),
    });
    await lifecycle.start();
    await lifecycle.stop();
    expect(events).toEqual(["serves at /nowhere/cni.sock", "network starts", "calls have ended", "network stops"]);
});

it("keeps the CNI configuration after a start that failed, whatever the API server answers", async () => {
    const steps: string[] = [];
    const platform = {
        clock: systemClock,
        logger: silentLogger,
        metrics: new Metrics({ processMetrics: false }),
        config: { cniSocket: "/nowhere/cni.sock" },
        environment: { cniConfFolder: "/nowhere", podNamespace: "kube-system" },
        kube: { api: { find: () => Promise.resolve(void steps.push("find DaemonSet")) } },
    } as unknown as Platform;
    const parts = {
        conflist: () => ({ write: async () => undefined, remove: async () => void steps.push("removed") }),
        cniServer: () => ({ start: async () => undefined, stop: async () => undefined }),
    };
    const { serve } = cniServer(platform, parts, []);
    const feature = serve({} as Parameters<typeof serve>[0]);
    await feature.stop?.({ startFailed: true });
    expect(steps).toEqual([]);
    await feature.stop?.();
    expect(steps).toEqual(["find DaemonSet", "removed"]);
});
