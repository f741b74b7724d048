import { expect, it } from "@jest/globals";
import { eventually, TestApiServer } from "@antrea/kube/testing";
import { ControllerProcess, fetchLocal } from "./controller-process.ts";

it("serves /metrics unless enablePrometheusMetrics is false: then nobody gets them", async () => {
    await using server = await TestApiServer.start();
    for (const [enablePrometheusMetrics, status, apiPort] of [
        [true, 401, 10_447],
        [false, 404, 10_448],
    ] as const) {
        await using controller = await ControllerProcess.start(server, {
            name: `metrics-${apiPort}`,
            apiPort,
            config: { enablePrometheusMetrics },
        });
        const answer = await eventually(() => fetchLocal(apiPort, "/metrics").catch(() => false as const), {
            timeoutMs: 30_000,
            what: "the controller serves",
        });
        expect([answer[0], controller.output.includes('"level":"error"')]).toEqual([status, false]);
    }
});
