import { beforeEach, expect, it } from "@jest/globals";
import { MemoryLog } from "@antrea/runtime/testing";
import { CniCalls } from "../../../src/features/cni-server/index.ts";
import { FakeBackend } from "./fake-backend.ts";

let backend: FakeBackend;
let calls: CniCalls;
let log: MemoryLog;
let nowMs: number;
let read: number;

beforeEach(() => {
    [backend, log, nowMs, read] = [new FakeBackend(), new MemoryLog(), 1_000_000, 0];
    calls = new CniCalls({ backend, logger: log.logger, now: () => nowMs, observe: () => undefined });
});

/** STATUS as the runtime calls it, each 5 s, this many times. */
async function status(times: number, config: object = {}): Promise<void> {
    const text = JSON.stringify({ cniVersion: "1.1.0", name: "antrea", type: "antrea", ...config });
    const networkConfiguration = new TextEncoder().encode(text);
    const args = { containerId: "", netns: "", ifname: "", args: "", path: "", networkConfiguration };
    for (let i = 0; i < times; i += 1) {
        await calls.call("status", args, new AbortController().signal).catch(() => undefined);
        nowMs += 5_000;
    }
}

/** What was logged since the last time. */
function lines(): readonly string[] {
    const news = log.records.slice(read);
    read = log.records.length;
    return news.map(({ level, msg, error }) => `${level} ${msg} ${JSON.stringify(error) ?? ""}`.trim());
}

it("a condition that lasts is logged once, and then each ten minutes", async () => {
    backend.problem = "no bridge";
    await status(100);
    expect(lines()).toEqual([expect.stringMatching(/^warn CNI call failed .*no bridge/)]);
    await status(120);
    expect(lines()).toEqual([expect.stringMatching(/^warn CNI call failed .*no bridge/)]);
});

it("each other reason is logged, and the end", async () => {
    backend.problem = "no bridge";
    await status(3);
    backend.problem = "no gateway";
    await status(3);
    backend.problem = undefined;
    await status(3);
    expect(lines()).toEqual([
        expect.stringContaining("no bridge"),
        expect.stringContaining("no gateway"),
        "info CNI STATUS succeeds again",
    ]);
    backend.problem = "no gateway";
    await status(3);
    expect(lines()).toEqual([expect.stringContaining("no gateway")]);
});

it("two configurations, of which one is refused, do not make each other's answers look like changes", async () => {
    for (let i = 0; i < 10; i += 1) {
        await status(1);
        await status(1, { networkType: "vlan" });
    }
    expect(lines().length).toBe(1);
});

it("other calls that fail are logged each time", async () => {
    const networkConfiguration = new TextEncoder().encode("{}");
    const args = { containerId: "c1", netns: "", ifname: "eth0", args: "", path: "", networkConfiguration };
    for (let i = 0; i < 3; i += 1) await calls.call("add", args, new AbortController().signal).catch(() => undefined);
    expect(lines().length).toBe(3);
});
