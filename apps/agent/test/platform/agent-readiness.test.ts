import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import type { ConnectionState } from "@antrea/openflow/connection";
import { Jobs, Metrics } from "@antrea/runtime";
import { DaemonServer } from "@antrea/serving";
import { createCniBackend } from "../../src/features/cni-server/backend.ts";
import { CniCalls } from "../../src/features/cni-server/index.ts";
import { buildReadiness } from "../../src/platform/agent-readiness.ts";
import type { Readiness } from "../../src/platform/readiness.ts";
import { eventually } from "../support/eventually.ts";
import { silentLogger } from "../support/logger.ts";

let api: { refusedSince: number | undefined };
let openflow: { state: ConnectionState };
let health: DaemonServer;
let jobs: Jobs;
let readiness: Readiness;

async function readyz(): Promise<string> {
    const answer = await fetch(`http://127.0.0.1:${health.probePort}/readyz?verbose`);
    return `${answer.status} ${await answer.text()}`;
}

/** CNI STATUS, as the container runtime asks for it with cniVersion 1.1.0. */
async function status(): Promise<void> {
    const backend = createCniBackend({
        readiness,
        network: () => undefined,
        errorCodes: [],
        check: () => Promise.resolve(),
        netnsPath: (path) => path,
        networkName: "antrea",
        isNodeNetns: () => false,
        podUid: () => Promise.resolve(""),
    });
    const calls = new CniCalls({ backend, logger: silentLogger, observe: () => undefined, now: () => 0 });
    const config = { cniVersion: "1.1.0", name: "antrea", type: "antrea" };
    const networkConfiguration = new TextEncoder().encode(JSON.stringify(config));
    const args = { containerId: "", netns: "", ifname: "", args: "", path: "", networkConfiguration };
    await calls.call("status", args, new AbortController().signal);
}

beforeEach(async () => {
    api = { refusedSince: undefined };
    openflow = { state: { kind: "ready", datapathId: 42n } };
    const clock = new ManualClock();
    const metrics = new Metrics({ processMetrics: false });
    jobs = new Jobs({ logger: silentLogger });
    health = new DaemonServer(
        { logger: silentLogger, metrics, authorize: async () => true },
        { name: "antrea-agent", host: "127.0.0.1", port: 0, probePort: 0 },
    );
    readiness = buildReadiness({ api, clock, health, jobs, logger: silentLogger, metrics, openflow }, {});
    await health.start();
});
afterEach(async () => {
    await jobs.stop();
    await health.stop();
});

it("a refused token makes the agent not ready, but neither fails STATUS nor holds a Pod back", async () => {
    api.refusedSince = 0;
    jobs.start();
    expect(await eventually(readyz, (text) => text.startsWith("503"))).toContain("401");
    await status();
    await readiness.ready(AbortSignal.timeout(50));
    expect(readiness.missing()).toBeUndefined();
});

it("without ovs-vswitchd the agent is not ready, and STATUS fails", async () => {
    await status();
    openflow.state = { kind: "connecting" };
    expect(await readyz()).toContain("ovs-vswitchd is not connected");
    await expect(status()).rejects.toMatchObject({ code: "PLUGIN_NOT_AVAILABLE" });
});
