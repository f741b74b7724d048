import { expect, it } from "@jest/globals";
import { eventually, TestApiServer } from "@antrea/kube/testing";
import { ControllerProcess, fetchLocal } from "./controller-process.ts";

it("serves /metrics unless enablePrometheusMetrics is false: then nobody gets them", async () => {
    await using server = await TestApiServer.start();
    for (const [enablePrometheusMetrics, status] of [
        [true, 401],
        [false, 404],
    ] as const) {
        await using controller = await ControllerProcess.start(server, {
            name: `metrics-${status}`,
            config: { enablePrometheusMetrics },
        });
        const answer = await eventually(() => fetchLocal(controller.apiPort, "/metrics").catch(() => false as const), {
            timeoutMs: 60_000,
            what: "the controller serves",
        });
        expect([answer[0], controller.output.includes('"level":"error"')]).toEqual([status, false]);
    }
});
