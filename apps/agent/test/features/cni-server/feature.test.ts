import { describe, expect, it } from "@jest/globals";
import { systemClock } from "@antrea/async";
import { ManualClock, settle } from "@antrea/async/testing";
import { Lifecycle, Metrics, type LifecyclePart } from "@antrea/runtime";
import { cniServer } from "../../../src/features/cni-server/feature.ts";
import { stopFeatures, type Feature } from "../../../src/platform/feature.ts";
import type { Platform } from "../../../src/platform/platform.ts";
import { silentLogger } from "../../support/logger.ts";

it("ends with the calls in progress before the Pod network that executes them, which starts after it", async () => {
    const events: string[] = [];
    const platform = {
        clock: systemClock,
        logger: silentLogger,
        metrics: new Metrics({ processMetrics: false }),
        gates: { enabled: () => false },
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

/** Parts that do nothing. */
const noNode: Parameters<typeof cniServer>[1] = {
    conflist: () => ({ write: async () => undefined, remove: async () => undefined }),
    cniServer: () => ({ start: async () => undefined, stop: async () => undefined }),
};

const removal = ["find DaemonSet", "removed"];

/** The feature, with an API server that has no DaemonSet; what it does is in `steps`. */
function uninstalled(): { readonly feature: Feature; readonly steps: readonly string[] } {
    const steps: string[] = [];
    const platform = {
        clock: systemClock,
        logger: silentLogger,
        metrics: new Metrics({ processMetrics: false }),
        gates: { enabled: () => false },
        config: { cniSocket: "/nowhere/cni.sock" },
        environment: { cniConfFolder: "/nowhere", podNamespace: "kube-system" },
        kube: { api: { find: () => Promise.resolve(void steps.push("find DaemonSet")) } },
    } as unknown as Platform;
    const parts = {
        conflist: () => ({ write: async () => undefined, remove: async () => void steps.push("removed") }),
        cniServer: () => ({ start: async () => undefined, stop: async () => undefined }),
    };
    const { serve } = cniServer(platform, parts, []);
    return { feature: serve({} as Parameters<typeof serve>[0]), steps };
}

describe("the CNI configuration of a Node without kube-proxy", () => {
    /** Starts the feature on a clock; `jobs` are those that it began, `services` reports that OVS has them. */
    function started(onServices: boolean): {
        clock: ManualClock;
        jobs: string[];
        services: () => void;
        end: () => unknown;
    } {
        const clock = new ManualClock();
        const jobs: string[] = [];
        const platform = {
            clock,
            logger: silentLogger,
            metrics: new Metrics({ processMetrics: false }),
            gates: { enabled: () => false },
            jobs: { every: (name: string) => void jobs.push(name) },
            config: { cniSocket: "/nowhere/cni.sock" },
            environment: { cniConfFolder: "/nowhere", podNamespace: "kube-system" },
            kube: { api: { find: () => Promise.resolve({}) } },
        } as unknown as Platform;
        const { serve } = cniServer(platform, noNode, []);
        let services = (): void => undefined;
        const feature = serve({
            onServices: onServices ? (listener: () => void) => void (services = listener) : undefined,
        } as Parameters<typeof serve>[0]);
        void feature.start?.(new AbortController().signal);
        return { clock, jobs, services: () => services(), end: () => feature.stop?.() };
    }
    const written = ["cni-server/conflist"];

    it("is written at once if kube-proxy serves Services", () => {
        expect(started(false).jobs).toEqual(written);
    });

    it("is written once Services are in OVS", async () => {
        const { clock, jobs, services } = started(true);
        await clock.advance(10_000);
        expect(jobs).toEqual([]);
        services();
        expect(jobs).toEqual(written);
        await clock.advance(60_000);
        expect(jobs).toEqual(written);
    });

    it("is written 30 s later without them", async () => {
        const { clock, jobs, services } = started(true);
        await clock.advance(29_999);
        expect(jobs).toEqual([]);
        await clock.advance(1);
        services();
        expect(jobs).toEqual(written);
    });

    it("is not written after the end of the agent", async () => {
        const { clock, jobs, end } = started(true);
        await end();
        await clock.advance(60_000);
        expect(jobs).toEqual([]);
    });
});

it("keeps the CNI configuration after a start that failed, whatever the API server answers", async () => {
    const { feature, steps } = uninstalled();
    await feature.stop?.({ startFailed: true });
    expect(steps).toEqual([]);
    await feature.stop?.();
    expect(steps).toEqual(removal);
});

it.each<[string, NonNullable<LifecyclePart["start"]>, readonly string[]]>([
    ["keeps it when a later part of the agent does not start", () => Promise.reject(new TypeError("no uplink")), []],
    ["removes it when the agent is uninstalled while a later part starts", () => new Promise(() => undefined), removal],
])("%s", async (_, start, expected) => {
    const { feature, steps } = uninstalled();
    const shared = { transport: { [Symbol.dispose]: () => undefined }, openflow: { close: async () => undefined } };
    const platform = { ...shared, logger: silentLogger } as unknown as Parameters<typeof stopFeatures>[0];
    const lifecycle = new Lifecycle({ logger: silentLogger });
    lifecycle.append({ name: "pod-network", stop: (o) => stopFeatures(platform, [feature], o) });
    lifecycle.append({ name: "uplink", start });
    const ending = new AbortController();
    const started = expect(lifecycle.start(ending.signal)).rejects.toThrow();
    await settle();
    ending.abort();
    await started;
    expect(steps).toEqual(expected);
});
